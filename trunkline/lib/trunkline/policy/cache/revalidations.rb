# frozen_string_literal: true

require_relative "../../lock"
require_relative "../../redacted"

module Trunkline
  module Policy
    class Cache
      # What is being validated in the background: each answer once at a time.
      class Revalidations
        include Redacted

        # Of those that were over last, for who has read an answer before and looks at it now.
        KEPT = 100
        private_constant :KEPT

        # @return [Integer] how many are over
        attr_reader :count

        def initialize
          @keys = {}
          @over = {}
          @count = 0
          @lock = Lock.new
          @pid = Process.pid
        end

        # @param key [String]
        # @param read_at [Integer] #count before the answer was read: one that was validated since is not again
        # @return [Boolean] whether the caller is to do it
        def begin?(key, read_at)
          @lock.synchronize do
            # A forked child has none of its parent's.
            @keys.clear unless @pid == Process.pid
            @pid = Process.pid
            @keys.key?(key) || @over.fetch(key, 0) > read_at ? false : @keys[key] = true
          end
        end

        # @param key [String]
        # @return [void]
        def end(key)
          @lock.synchronize do
            @keys.delete(key)
            @over.delete(key)
            @over[key] = @count += 1
            @over.shift if @over.size > KEPT
          end
        end
      end
    end
  end
end
