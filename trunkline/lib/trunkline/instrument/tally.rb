# frozen_string_literal: true

require_relative "../lock"

module Trunkline
  module Instrument
    # The number and the total duration of the calls of one Rails request or job. Futures and batches count for the
    # request or job that created them. Safe for use by several threads.
    class Tally
      KEY = :trunkline_tally
      private_constant :KEY

      # @return [Tally, nil] of the current thread and fiber
      def self.current = Thread.current[KEY]

      # @yield the block whose calls are counted
      # @yieldparam tally [Tally]
      def self.count
        outer = current
        yield Thread.current[KEY] = new
      ensure
        Thread.current[KEY] = outer
      end

      # @return [Integer] number of calls that have ended
      attr_reader :calls
      # @return [Float] sum of the calls' durations, more than the elapsed time when calls run concurrently
      attr_reader :seconds

      def initialize
        @lock = Lock.new
        @calls = 0
        @seconds = 0.0
      end

      # @param seconds [Float]
      def add(seconds)
        @lock.synchronize do
          @calls += 1
          @seconds += seconds
        end
      end
    end
  end
end
