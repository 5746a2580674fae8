# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # Checks before anything is sent whether a block accepts the arguments that it will be called with.
  #
  # @api private
  module BlockArity
    module_function

    # @param block [Proc, nil] nil passes
    # @param count [Integer] number of arguments
    # @param arguments [String] names the arguments in the message
    # @yieldreturn [String] names the block in the message
    # @raise [InvalidRequest] when block does not accept count arguments
    def check(block, count, arguments)
      return if block.nil? || (arity = block.arity) == count

      fits = block.lambda? ? arity == count || arity.negative? : arity <= count
      return if fits && arity + count >= -1 # a negative arity is -1 minus the number of required parameters

      raise InvalidRequest, "#{yield} must take #{count} argument#{"s" if count > 1} (#{arguments}), it takes #{arity}"
    end

    # @param block [Proc] called with the chunks of a body
    # @return [Boolean] whether block also takes the response: it has two required parameters
    # @raise [InvalidRequest] when block accepts neither one nor two arguments
    def takes_response?(block)
      return true if block.arity == 2

      check(block, 1, "the chunk; or 2: the chunk and its response") { "the block" }
      false
    end

    # @param block [Proc] called with a request and its result, or with both in an Array
    # @return [Proc] one that can also be called with an index. A block that is no lambda and has two required
    #   parameters is returned unchanged: it may have an optional third for the index
    def ignoring_index(block)
      return block if block.arity == 2 && !block.lambda?
      return ->(item, result, _index) { block.call([item, result]) } if block.arity == 1

      ->(item, result, _index) { block.call(item, result) }
    end
  end
end
