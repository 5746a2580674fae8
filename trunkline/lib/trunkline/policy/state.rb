# frozen_string_literal: true

require_relative "../lock"

module Trunkline
  module Policy
    # What policies know of origins: one for all clients of the process. Those used longest ago are forgotten, so that a
    # crawl over many origins does not keep them all.
    #
    # @api private
    module State
      # Of each kind.
      MOST = 4096

      @lock = Lock.new
      @kinds = {}

      class << self
        # @param kind [Symbol] such as :breaker
        # @param key [Object] an origin, with the settings if they differ
        # @yieldreturn [Object] the state of one that is new
        # @return [Object]
        def of(kind, key)
          @lock.synchronize { used(kind, key) || insert(kind, key, yield) }
        end

        # Changes a state while no other thread does.
        # @param kind [Symbol]
        # @param key [Object]
        # @param initial [Object] a new one is a copy of it
        # @yield [state]
        # @return [Object] what the block returns
        def change(kind, key, initial)
          @lock.synchronize { yield(used(kind, key) || insert(kind, key, initial.dup)) }
        end

        # @return [Hash{Object => Object}] a copy of all that is known of a kind
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

        # A Hash has the order of insertion: what is used goes to its end.
        def used(kind, key)
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
