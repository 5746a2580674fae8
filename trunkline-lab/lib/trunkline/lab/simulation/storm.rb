# frozen_string_literal: true

require_relative "../simulation"
require_relative "call"
require_relative "server"

module Trunkline
  module Lab
    class Simulation
      # A retry storm. Callers use three quarters of a server's capacity. For some seconds the server is ten times
      # slower; its queue fills, callers give up and retry. Afterwards it is as fast as before, but the load now exceeds
      # its capacity, unless there are few retries.
      class Storm
        # Name => the policy.
        WAYS = {
          "no retries" => nil,
          "retries without a budget" => { budget: false },
          "Trunkline, retry: true" => true
        }.freeze
        WORKERS = 10
        SECONDS = 0.1       # mean time of a worker for a request: 100 requests a second
        QUEUE = 200         # requests: two seconds of work
        PER_SECOND = 75
        PATIENCE = 1.0      # seconds that a caller waits for a response
        TROUBLE = 20...30
        TIMES_SLOWER = 10
        AFTER = 60          # seconds
        UNTIL = TROUBLE.end + AFTER
        WELL = 0.95         # share of a second's calls that must be answered for the server to count as recovered

        # The results of one run, by second: calls begun, calls of these that were answered in the end, and requests
        # that reached the server.
        Result = Struct.new(:calls, :good, :arrived) do
          # @param seconds [Range] seconds to include
          # @return [Float] requests per call that the server got
          def per_call(seconds = 0...UNTIL) = arrived[seconds].sum / calls[seconds].sum.to_f

          # @return [Float] share of all calls
          def answered = good.sum / calls.sum.to_f

          # @return [Integer, nil] seconds from the end of the trouble until calls are answered as before; nil if that
          #   did not happen
          def recovery
            bad = (0...UNTIL).to_a.rindex { |second| good[second] < calls[second] * WELL } || 0
            [bad + 1 - TROUBLE.end, 0].max if bad < UNTIL - 1
          end
        end

        # @param way [true, Hash, nil] value of retry:
        # @param seed [Integer]
        # @return [Result]
        def self.run(way, seed) = new(way, seed).run

        def initialize(way, seed)
          @policy = way && Trunkline::Policy::Retry.of(way)
          @simulation = Simulation.new(seed)
          @server = Server.new(@simulation, workers: WORKERS, queue: QUEUE) { seconds }
          @request = Call.request
          @calls = Array.new(UNTIL, 0)
          @good = Array.new(UNTIL, 0)
        end

        def run
          @simulation.arrivals(PER_SECOND, UNTIL) { call }
          @simulation.run
          arrived = @server.arrivals.map(&:to_i).tally
          Result.new(@calls, @good, Array.new(UNTIL) { |second| arrived.fetch(second, 0) })
        end

        private

        def seconds
          @simulation.exponential(TROUBLE.cover?(@simulation.now) ? SECONDS * TIMES_SLOWER : SECONDS)
        end

        def call
          second = @simulation.now.to_i
          @calls[second] += 1
          response = Call.new(@simulation, @server, timeout: PATIENCE).perform(@request, @policy)
          @good[second] += 1 if response.ok?
        rescue Trunkline::Error
          nil # counted as not answered
        end
      end
    end
  end
end
