# frozen_string_literal: true

require_relative "../lock"

module Trunkline
  module Policy
    # The state that policies keep of origins, shared by all clients of the process. The least recently used entries are
    # evicted, so that a crawl over many origins does not fill the memory.
    #
    # @api private
    module State
      # Maximum number of entries of a kind.
      MOST = 4096

      @lock = Lock.new
      @kinds = {}

      class << self
        # @param kind [Symbol] such as :breaker
        # @param key [Object] an origin, with the options when states differ by them
        # @yieldreturn [Object] the state for a new key
        # @return [Object]
        def of(kind, key)
          @lock.synchronize { touch(kind, key) || insert(kind, key, yield) }
        end

        # Changes a state while holding the lock, so that no other thread changes it.
        # @param kind [Symbol]
        # @param key [Object]
        # @param initial [Object] copied for a new key
        # @yield [state]
        # @return [Object] what the block returns
        def change(kind, key, initial)
          @lock.synchronize { yield(touch(kind, key) || insert(kind, key, initial.dup)) }
        end

        # @return [Hash{Object => Object}] a copy of all states of a kind, by key
        def all(kind)
          @lock.synchronize { @kinds[kind].dup || {} }
        end

        # Forgets everything, for tests.
        # @return [nil]
        def clear
          @lock.synchronize { @kinds.clear }
          nil
        end

        private

        # Moves the entry to the end of the Hash, which keeps the order of insertion: the first entry is the least
        # recently used.
        def touch(kind, key)
          entries = @kinds[kind] or return
          known = entries.delete(key) or return
          entries[key] = known
        end

        def insert(kind, key, state)
          entries = @kinds[kind] ||= {}
          entries.shift if entries.size >= MOST
          entries[key] = state
        end
      end
    end
  end
end
