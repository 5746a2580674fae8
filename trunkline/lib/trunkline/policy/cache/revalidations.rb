# frozen_string_literal: true

require_relative "../../lock"
require_relative "../../redacted"

module Trunkline
  module Policy
    class Cache
      # What is being validated in the background: each answer once at a time.
      class Revalidations
        include Redacted

        def initialize
          @keys = {}
          @lock = Lock.new
          @pid = Process.pid
        end

        # @param key [String]
        # @return [Boolean] whether the caller is to do it
        def begin?(key)
          @lock.synchronize do
            # A forked child has none of its parent's.
            @keys.clear unless @pid == Process.pid
            @pid = Process.pid
            @keys.key?(key) ? false : @keys[key] = true
          end
        end

        # @param key [String]
        # @return [void]
        def end(key)
          @lock.synchronize { @keys.delete(key) }
        end
      end
    end
  end
end
