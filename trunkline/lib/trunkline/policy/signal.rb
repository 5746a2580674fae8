# frozen_string_literal: true

require_relative "../condition"
require_relative "../lock"

module Trunkline
  module Policy
    # An event that occurs once. Any number of threads, fibers, and calls of a Scheduler can wait for it.
    #
    # @api private
    class Signal
      def initialize
        @lock = Lock.new
        @condition = Condition.new
        @set = false
        @blocks = []
      end

      # @return [Boolean]
      def set? = @set

      # Wakes up all waiters. Any thread may call it; idempotent.
      # @return [nil]
      def set
        blocks = @lock.synchronize do
          @set = true
          @condition.broadcast
          @blocks.tap { @blocks = [] }
        end
        blocks.each(&:call)
        nil
      end

      # Waits in this thread or fiber.
      # @param seconds [Float, nil]
      # @return [Boolean] whether the signal was set in time
      def wait(seconds = nil) # rubocop:disable Naming/PredicateMethod -- it waits
        limit = seconds && (Engine.now + seconds)
        @lock.synchronize do
          until @set
            left = limit && (limit - Engine.now)
            return false if left && left <= 0

            @lock.wait(@condition, left)
          end
        end
        true
      end

      # @yield when the signal is set; at once if it was set before
      # @return [nil]
      def on_set(&block)
        waits = @lock.synchronize { @blocks << block unless @set }
        block.call unless waits
        nil
      end
    end
  end
end
