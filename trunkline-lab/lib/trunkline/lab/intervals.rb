# frozen_string_literal: true

require_relative "clock"

module Trunkline
  module Lab
    # Divides one run into intervals of equally many calls, so that a single run has samples that can be compared with
    # those of another run. When there are more than MOST intervals, each pair is merged, so that a run of any length
    # keeps between MOST / 2 and MOST intervals.
    class Intervals
      MOST = 32

      # @param calls [Integer] calls in the first intervals; at least the number in flight, because calls end in bursts
      def initialize(calls)
        @calls = calls
        @complete = []
        begin_one
      end

      # Records the end of a call.
      # @param microseconds [Integer, nil] nil for a failed call
      def record(microseconds)
        @ended += 1
        @latency[microseconds] += 1 if microseconds
        complete if @ended == @calls
      end

      # @return [Array<Hash>] requests, wall and cpu (seconds), and latency (microseconds => count); without the
      #   incomplete interval at the end of the run
      def to_a = @complete

      private

      def begin_one
        @ended = 0
        @latency = Hash.new(0)
        @began = [Clock.now, Clock.cpu]
      end

      def complete
        now = [Clock.now, Clock.cpu]
        wall, cpu = now.zip(@began).map { |after, before| after - before }
        @complete << { requests: @ended, wall: wall, cpu: cpu, latency: @latency }
        begin_one
        @began = now
        halve if @complete.size > MOST
      end

      # An odd interval at the end becomes the current one again.
      def halve
        rest = @complete.pop if @complete.size.odd?
        @complete = @complete.each_slice(2).map { |pair| join(*pair) }
        @calls *= 2
        return unless rest

        @ended, @latency = rest.values_at(:requests, :latency)
        @began = [@began[0] - rest[:wall], @began[1] - rest[:cpu]]
      end

      def join(first, second)
        first.merge(second) { |_, one, other| one.is_a?(Hash) ? one.merge(other) { |_, a, b| a + b } : one + other }
      end
    end
  end
end
