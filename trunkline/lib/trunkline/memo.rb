# frozen_string_literal: true

require_relative "lock"

module Trunkline
  # Bounded caches: plain Hashes, cleared when they are full. Look-ups take no lock. Stores take one, since JRuby runs
  # threads in parallel, and a Hash that several of them change at once may be damaged. A look-up beside a store may
  # find nothing: computing a value twice does no harm.
  #
  # @api private
  module Memo
    STORES = Lock.new
    private_constant :STORES

    module_function

    # @return [Object] value
    def keep(cache, limit, key, value)
      STORES.synchronize do
        cache.clear if cache.size >= limit
        cache[key] = value
      end
    end
  end
end
