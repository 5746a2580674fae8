# frozen_string_literal: true

module Trunkline
  # Who can be told of something by #warn.
  #
  # @api private
  module Warns
    # Kernel has a #warn for everybody, which is private; on JRuby what RubyGems makes of it is public.
    def self.by?(value)
      return false unless value.respond_to?(:warn)

      value.equal?(Kernel) || !Kernel.public_method_defined?(:warn) || value.method(:warn).owner != Kernel
    end
  end
end
