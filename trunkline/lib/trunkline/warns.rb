# frozen_string_literal: true

module Trunkline
  # Checks whether an object has a #warn of its own, as a logger has.
  #
  # @api private
  module Warns
    # Every object has Kernel#warn, which is private. On JRuby, the #warn with which RubyGems overrides it is public.
    def self.by?(value)
      return false unless value.respond_to?(:warn)

      value.equal?(Kernel) || !Object.public_method_defined?(:warn) ||
        value.method(:warn).owner != Object.instance_method(:warn).owner
    end
  end
end
