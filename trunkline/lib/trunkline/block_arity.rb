# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # Whether a block can take what it will be called with: better told before anything is sent.
  #
  # @api private
  module BlockArity
    module_function

    # @param block [Proc, nil]
    # @param count [Integer] of arguments
    # @param arguments [String] what they are, for the message
    # @yieldreturn [String] what the message calls the block
    # @raise [InvalidRequest]
    def check(block, count, arguments)
      return if block.nil? || (arity = block.arity) == count

      fits = block.lambda? ? arity == count || arity.negative? : arity <= count
      return if fits && arity + count >= -1 # negative: -1 and less one for each parameter that must be given

      raise InvalidRequest, "#{yield} must take #{count} argument#{"s" if count > 1} (#{arguments}), it takes #{arity}"
    end

    # @param block [Proc] that takes the chunks of a body
    # @return [Boolean] whether it takes their response as well: it must have two parameters that are not optional
    # @raise [InvalidRequest] when it cannot be called with either
    def takes_response?(block)
      return true if block.arity == 2

      check(block, 1, "the chunk; or 2: the chunk and its response") { "the block" }
      false
    end

    # @param block [Proc] of a request and its result, or of both in an Array
    # @return [Proc] that can be called with an index as well; a plain block of two parameters, and of one more that is
    #   optional, can as it is
    def ignoring_index(block)
      return block if block.arity == 2 && !block.lambda?
      return ->(item, result, _index) { block.call([item, result]) } if block.arity == 1

      ->(item, result, _index) { block.call(item, result) }
    end
  end
end
