# frozen_string_literal: true

require_relative "../redacted"

module Trunkline
  class Scheduler
    # The calls that wait for a time or for a signal. All methods are for the thread that runs the Scheduler; the block
    # given to .new is called in any thread.
    class Timers
      include Redacted

      # @yield in any thread, when a signal was set
      def initialize(&wake)
        @wake = wake
        @waits = {}.compare_by_identity # a Flow::Pause or Flow::Race for each PendingRequest
        @signalled = Thread::Queue.new
        @next = nil # the earliest time; nil: not known
      end

      # @return [Integer]
      def size = @waits.size

      # @return [Boolean]
      def empty? = @waits.empty?

      # @return [Array<PendingRequest>]
      def calls = @waits.keys

      # @param pending [PendingRequest]
      # @param wait [Flow::Pause, Flow::Race]
      def add(pending, wait)
        @waits[pending] = wait
        moment = moment_of(wait)
        @next = moment if moment && @next && moment < @next
        @next = nil if @waits.size == 1
        return unless wait.is_a?(Flow::Pause) && wait.signal

        wait.signal.on_set do
          @signalled << [pending, wait]
          @wake.call
        end
      end

      # @return [Boolean] whether pending was waiting
      def delete(pending) # rubocop:disable Naming/PredicateMethod -- it deletes
        !@waits.delete(pending).nil?
      end

      # @return [Float, nil] seconds until the earliest time
      def wait(now)
        return if @waits.empty?
        return 0.0 unless @signalled.empty?

        @next ||= @waits.each_value.filter_map { |wait| moment_of(wait) }.min
        @next && [@next - now, 0.0].max
      end

      # @yield [pending, wait, set] each call whose time has come, or whose signal was set
      def each_due(now)
        each_signalled { |pending, wait| yield pending, wait, true }
        return if @waits.empty? || (@next && @next > now)

        due = @waits.select { |_, wait| (moment = moment_of(wait)) && moment <= now }
        @next = nil
        due.each { |pending, wait| yield pending, wait, false if take(pending, wait) }
      end

      # @return [Array<PendingRequest>] the calls that were waiting
      def clear
        left = @waits.keys
        @waits.clear
        left
      end

      private

      def moment_of(wait) = wait.is_a?(Flow::Race) ? wait.at : wait.until

      def each_signalled
        until @signalled.empty?
          pending, wait = @signalled.pop
          yield pending, wait if take(pending, wait)
        end
      end

      # @return [Boolean] whether pending was still waiting for wait
      def take(pending, wait) # rubocop:disable Naming/PredicateMethod -- it takes
        return false unless @waits[pending].equal?(wait)

        @waits.delete(pending)
        true
      end
    end
  end
end
