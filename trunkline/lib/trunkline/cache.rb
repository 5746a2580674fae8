# frozen_string_literal: true

require_relative "cache/memory"
require_relative "cache/status"

module Trunkline
  # What callers see of the option cache: (docs/cache.md): where answers are kept, and what is told of them.
  module Cache
  end
end
