# frozen_string_literal: true

require "rbconfig"

module Trunkline
  module Insight
    # Where in the caller's code a call was made.
    #
    # @api private
    module Place
      # Not the caller's code.
      LIBRARIES = [File.expand_path("../..", __dir__), RbConfig::CONFIG["rubylibdir"], *Gem.path, "<internal:"].freeze
      private_constant :LIBRARIES

      class << self
        # @return [String] "app/models/user.rb:31", of the innermost line that belongs to the application
        def here
          lines = caller_locations(2).reject { |line| library?(file(line)) }
          own = lines.find { |line| file(line).start_with?("#{root}/") } || lines.first
          own ? "#{file(own).delete_prefix("#{root}/")}:#{own.lineno}" : "unknown place"
        end

        private

        # @return [String] the folder of the application
        def root = (defined?(::Rails.root) && ::Rails.root&.to_s) || Dir.pwd

        def file(line) = line.absolute_path || line.path

        def library?(path) = path.start_with?(*LIBRARIES)
      end
    end
  end
end
