# frozen_string_literal: true

module Trunkline
  # Who can be told of something by #warn.
  #
  # @api private
  module Warns
    # Everybody has Kernel's #warn, which is private; on JRuby what RubyGems puts before it is public.
    def self.by?(value)
      return false unless value.respond_to?(:warn)

      value.equal?(Kernel) || !Object.public_method_defined?(:warn) ||
        value.method(:warn).owner != Object.instance_method(:warn).owner
    end
  end
end
