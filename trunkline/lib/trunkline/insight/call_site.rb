# frozen_string_literal: true

require "rbconfig"
require_relative "../memo"

module Trunkline
  module Insight
    # Finds the line in the caller's code that made a call.
    #
    # @api private
    module CallSite
      # Prefixes of paths that are not the caller's code.
      LIBRARIES = [File.expand_path("../..", __dir__), RbConfig::CONFIG["rubylibdir"], *Gem.path, "<internal:"].freeze
      # Number of stack frames read at once.
      PORTION = 24
      # Maximum number of files whose classification as library code is kept.
      FILES = 4096
      private_constant :LIBRARIES, :PORTION, :FILES

      @known = {}

      class << self
        # Reads only as many stack frames as needed, and classifies each file once: a page may make hundreds of calls,
        # some two hundred frames deep, and the time spent here adds to the measured time.
        # @return [String] "app/models/user.rb:31", the innermost line that belongs to the application
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

        # @return [String] the application's root directory
        def root = (defined?(::Rails.root) && ::Rails.root&.to_s) || Dir.pwd

        # @yield [path, number] frames from the innermost, except those of libraries
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
