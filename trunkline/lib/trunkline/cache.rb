# frozen_string_literal: true

require_relative "cache/memory"
require_relative "cache/status"

module Trunkline
  # The public classes of the option cache: (docs/cache.md): a store, and the cache status of a response.
  module Cache
    # Maximum bytes of a stored response, unless max_entry_bytes: is set.
    MAX_ENTRY_BYTES = 8 * 1024 * 1024
  end
end
