# frozen_string_literal: true

module Trunkline
  # What was worked out once and is asked for again: plain Hashes, bounded. When one is full all is forgotten, which
  # is as cheap as it gets. No lock is taken: the GVL makes each look-up and each store whole, and working something
  # out twice does no harm.
  #
  # @api private
  module Memo
    # A longer URL is hardly asked for again.
    KEY_BYTES = 2048
    private_constant :KEY_BYTES

    module_function

    # @param url [Object] only a String is kept: a Hash takes a frozen copy of it as its key
    # @return [Object] value
    def keep_url(cache, limit, url, value)
      url.is_a?(String) && url.bytesize <= KEY_BYTES ? keep(cache, limit, url, value) : value
    end

    # @return [Object] value
    def keep(cache, limit, key, value)
      cache.clear if cache.size >= limit
      cache[key] = value
    end
  end
end
