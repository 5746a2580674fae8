# frozen_string_literal: true

module Trunkline
  module XML
    # Finds the compiled extensions.
    # @api private
    module Extension
      # @param name [String] of an extension
      # @return [String] the path to require; a precompiled gem has a folder of extensions for each Ruby version
      def self.path(name)
        compiled = "#{__dir__}/#{RUBY_VERSION[/\A\d+\.\d+/]}/#{name}"
        File.exist?("#{compiled}.so") ? compiled : "#{__dir__}/#{name}"
      end
    end
  end
end
