# frozen_string_literal: true

require_relative "../simulation"
require_relative "call"
require_relative "server"

module Trunkline
  module Lab
    class Simulation
      # Hedging with a slow tail: one response of fifty takes twenty times as long as the others. Then, for some
      # seconds, all responses are slow: a second request for each would exceed the server's capacity.
      class Tail
        # Name => the policy.
        WAYS = {
          "no hedging" => nil,
          "hedging without a budget" => { max: 1.0 },
          "Trunkline, hedge: true" => true
        }.freeze
        WORKERS = 8
        SECONDS = 0.01 # mean
        SLOW_SECONDS = 0.2 # mean additional time of slow responses
        SLOW_SHARE = 0.02
        PER_SECOND = 100
        UNTIL = 60          # seconds
        TROUBLE = 40.0...50.0
        TIMES_SLOWER = 6    # the load is then three quarters of the workers' capacity

        # The results of one run: seconds until each response, with the time when the call began, and the times when
        # requests reached the server.
        Result = Struct.new(:response_times, :arrived) do
          # @param share [Float] 0..100
          # @param within [Range] seconds of the simulation
          # @return [Float] seconds
          def percentile(share, within = WELL)
            times = response_times.select { |began, _| within.cover?(began) }.map(&:last).sort
            times[(times.size * share / 100.0).ceil.clamp(1, times.size) - 1]
          end

          # @return [Float] requests in addition to one per call, as a share of the calls
          def extra(within = WELL)
            calls = response_times.count { |began, _| within.cover?(began) }
            (arrived.count { |time| within.cover?(time) } / calls.to_f) - 1
          end
        end
        WELL = 0.0...TROUBLE.begin

        # @param way [true, Hash, nil] value of hedge:
        # @param seed [Integer]
        # @return [Result]
        def self.run(way, seed) = new(way, seed).run

        def initialize(way, seed)
          @policy = way && Trunkline::Policy::Hedge.of(way)
          @simulation = Simulation.new(seed)
          @server = Server.new(@simulation, workers: WORKERS) { seconds }
          @request = Call.request
          @response_times = []
        end

        def run
          @simulation.arrivals(PER_SECOND, UNTIL) { call }
          @simulation.run
          Result.new(@response_times, @server.arrivals)
        end

        private

        def seconds
          slow = @simulation.random.rand < SLOW_SHARE ? @simulation.exponential(SLOW_SECONDS) : 0.0
          usual = @simulation.exponential(SECONDS)
          TROUBLE.cover?(@simulation.now) ? usual * TIMES_SLOWER : usual + slow
        end

        def call
          began = @simulation.now
          Call.new(@simulation, @server).perform(@request, @policy)
          @response_times << [began, @simulation.now - began]
        end
      end
    end
  end
end
