# frozen_string_literal: true

require_relative "../lock"

module Trunkline
  module Instrument
    # The calls of one Rails request or job: how many, and how long in all. Futures and batches are counted where they
    # were made. Safe for use by several threads.
    class Tally
      KEY = :trunkline_tally
      private_constant :KEY

      # @return [Tally, nil] of the current thread and fiber
      def self.current = Thread.current[KEY]

      # @yield whose calls are counted
      # @yieldparam tally [Tally]
      def self.count
        outer = current
        yield Thread.current[KEY] = new
      ensure
        Thread.current[KEY] = outer
      end

      # @return [Integer] that have ended
      attr_reader :calls
      # @return [Float] of all calls together: side by side, they take less
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
