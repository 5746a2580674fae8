# frozen_string_literal: true

require_relative "../simulation"
require_relative "call"
require_relative "server"

module Trunkline
  module Lab
    class Simulation
      # Hedging on a server with a slow tail: one answer of fifty takes twenty times as long as the others. Then, for
      # some seconds, all are slow: a second request for each would be the load that the server cannot bear.
      class Tail
        # Name => the policy.
        WAYS = {
          "no hedging" => nil,
          "hedging without a budget" => { max: 1.0 },
          "Trunkline, hedge: true" => true
        }.freeze
        WORKERS = 8
        SECONDS = 0.01 # in the mean
        SLOW_SECONDS = 0.2 # more, of the slow ones, in the mean
        SLOW_SHARE = 0.02
        PER_SECOND = 100
        UNTIL = 60          # seconds
        TROUBLE = 40.0...50.0
        TIMES_SLOWER = 6    # three quarters of what the workers can do

        # What was seen in one run: seconds until each answer, by when the call began, and when requests reached the
        # server.
        Seen = Struct.new(:answers, :arrived) do
          # @param share [Float] 0..100
          # @param within [Range] seconds of the simulation
          # @return [Float] seconds
          def percentile(share, within = WELL)
            times = answers.select { |began, _| within.cover?(began) }.map(&:last).sort
            times[(times.size * share / 100.0).ceil.clamp(1, times.size) - 1]
          end

          # @return [Float] requests beyond one for each call, as a share of the calls
          def extra(within = WELL)
            arrived.count { |time| within.cover?(time) } / answers.count { |began, _| within.cover?(began) }.to_f - 1
          end
        end
        WELL = 0.0...TROUBLE.begin

        # @param way [true, Hash, nil] what is said to hedge:
        # @param seed [Integer]
        # @return [Seen]
        def self.run(way, seed) = new(way, seed).run

        def initialize(way, seed)
          @policy = way && Trunkline::Policy::Hedge.of(way)
          @simulation = Simulation.new(seed)
          @server = Server.new(@simulation, workers: WORKERS) { seconds }
          @request = Call.request
          @answers = []
        end

        def run
          @simulation.arrivals(PER_SECOND, UNTIL) { call }
          @simulation.run
          Seen.new(@answers, @server.arrivals)
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
          @answers << [began, @simulation.now - began]
        end
      end
    end
  end
end
