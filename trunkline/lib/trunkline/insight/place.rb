# frozen_string_literal: true

require "rbconfig"
require_relative "../memo"

module Trunkline
  module Insight
    # Where in the caller's code a call was made.
    #
    # @api private
    module Place
      # Not the caller's code.
      LIBRARIES = [File.expand_path("../..", __dir__), RbConfig::CONFIG["rubylibdir"], *Gem.path, "<internal:"].freeze
      # Frames that are read at once.
      PORTION = 24
      # Of which it is known whether they are a library's.
      FILES = 4096
      private_constant :LIBRARIES, :PORTION, :FILES

      @known = {}

      class << self
        # Reads no more of the stack than it needs, and asks once for each file: a page may make hundreds of calls, some
        # two hundred frames deep, and what this takes is taken from what is measured.
        # @return [String] "app/models/user.rb:31", of the innermost line that belongs to the application
        def here
          folder = "#{root}/"
          first = nil
          each_line do |path, number|
            return "#{path.delete_prefix(folder)}:#{number}" if path.start_with?(folder)

            first ||= "#{path}:#{number}"
          end
          first || "unknown place"
        end

        private

        # @return [String] the folder of the application
        def root = (defined?(::Rails.root) && ::Rails.root&.to_s) || Dir.pwd

        # @yield [path, number] innermost first, without the libraries' own
        def each_line
          from = 3
          while (lines = caller_locations(from, PORTION)) && !lines.empty?
            lines.each do |line|
              path = line.absolute_path || line.path
              yield path, line.lineno unless library?(path)
            end
            from += PORTION
          end
        end

        def library?(path)
          @known.fetch(path) { Memo.keep(@known, FILES, path, path.start_with?(*LIBRARIES)) }
        end
      end
    end
  end
end
