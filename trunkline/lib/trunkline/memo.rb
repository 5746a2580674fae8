# frozen_string_literal: true

module Trunkline
  # Bounded caches: plain Hashes, cleared when they are full. No lock is taken: the GVL makes each look-up and each
  # store atomic, and computing a value twice does no harm.
  #
  # @api private
  module Memo
    module_function

    # @return [Object] value
    def keep(cache, limit, key, value)
      cache.clear if cache.size >= limit
      cache[key] = value
    end
  end
end
