# frozen_string_literal: true

require_relative "../limiter"
require_relative "../redacted"

module Trunkline
  module Insight
    # Simulates a batch of calls with a virtual clock: the limiter of real batches decides when the next call starts,
    # and each call takes as long as it took on an open connection.
    #
    # @api private
    class SimulatedBatch
      include Redacted

      # Connections per host that a client opens by default.
      CONNECTIONS = 64
      # CPU seconds that a watched batch spends per call: responses are awaited concurrently, but requests are written
      # and responses read one after another. Measured: 0.05 ms, and as much again for watching.
      CPU = 0.0001

      # @param calls [Array<Call>]
      # @param opening [Float] seconds for opening a connection when none is idle; over HTTP/2 only the first one is
      #   opened
      def initialize(calls, opening)
        @calls = calls
        @opening = opening
        @idle = calls.all?(&:opened?) ? 0 : 1
        @limiter = Limiter.new(0.0, maximum: CONNECTIONS)
        @now = 0.0
        @under_way = []
      end

      # @return [Float]
      def seconds
        @calls.each do |call|
          end_first until @limiter.ready?(@now)
          start(call)
        end
        @under_way.map(&:first).max
      end

      private

      def start(call)
        wait = connection_for(call)
        @under_way << [@now + wait + call.service, @now, @limiter.start(@now)]
        @now += CPU
      end

      # @return [Float] seconds until the call has a connection
      def connection_for(call)
        return @opening unless @idle.positive? || (call.multiplexed && !@under_way.empty?)

        @idle -= 1 if @idle.positive?
        0.0
      end

      def end_first
        @now, *begun = @under_way.delete_at(@under_way.each_index.min_by { |at| @under_way[at][0] })
        @limiter.on_success(@now, *begun)
        @idle += 1
      end
    end
  end
end
