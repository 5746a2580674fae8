# frozen_string_literal: true

require_relative "cache/memory"
require_relative "cache/status"

module Trunkline
  # What callers see of the option cache: (docs/cache.md): where answers are kept, and what is told of them.
  module Cache
    # Of the largest answer that is kept, unless max_entry_bytes: says otherwise.
    MAX_ENTRY_BYTES = 8 * 1024 * 1024
  end
end
