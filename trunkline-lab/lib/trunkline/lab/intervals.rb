# frozen_string_literal: true

require_relative "clock"

module Trunkline
  module Lab
    # One run cut into intervals of equally many calls, so that one run has samples that can be compared with another's.
    # When there are more than MOST, each two neighbours become one: a run of any length keeps from MOST / 2 to MOST.
    class Intervals
      MOST = 32

      # @param calls [Integer] in the first intervals; no fewer than are in flight, because calls end in bursts
      def initialize(calls)
        @calls = calls
        @complete = []
        begin_one
      end

      # A call has ended.
      # @param microseconds [Integer, nil] nil: it failed
      def record(microseconds)
        @ended += 1
        @latency[microseconds] += 1 if microseconds
        complete if @ended == @calls
      end

      # @return [Array<Hash>] requests, wall and cpu (seconds), and latency (microseconds => how often); without an
      #   interval that the run ended in
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

      # The odd one at the end goes on.
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
