# frozen_string_literal: true

module Trunkline
  module XML
    # Where the extensions are.
    # @api private
    module Extension
      # @param name [String] of an extension
      # @return [String] what to require: a gem that is compiled already has a folder of extensions for each Ruby
      def self.path(name)
        compiled = "#{__dir__}/#{RUBY_VERSION[/\A\d+\.\d+/]}/#{name}"
        File.exist?("#{compiled}.so") ? compiled : "#{__dir__}/#{name}"
      end
    end
  end
end
