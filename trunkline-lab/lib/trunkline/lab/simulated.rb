# frozen_string_literal: true

require_relative "repeats"

module Trunkline
  module Lab
    # For experiments that run twice: in a simulation, and with clients that send CALLS calls in each of RUNS runs to a
    # server of the lab.
    module Simulated
      include Repeats

      SEEDS = 5 # maximum: more runs of a simulation add no information

      private

      def options(parser)
        parser.on("--seed N", Integer, "of the first simulated run; each further run has the next (1)") do |seed|
          @seed = seed
        end
        parser.on("--simulation", "only the simulation: no requests are sent") { @simulation_only = true }
        peer_choice(parser)
        time_option(parser)
      end

      def arguments(rest) = calls_and_runs(rest)

      def known_peers
        all = Peer.with_policies
        self.class::CLIENTS.map { |id| all.find { |peer| peer.id == id } }
      end

      # Runs the simulation of each way with each seed.
      # @param ways [Hash{String => Object}]
      # @yield [way, seed]
      def simulate(ways)
        @seed ||= 1
        @simulated = {}
        @screen.progress("simulation", ways.size * seeds) do |advance|
          ways.each do |name, way|
            @simulated[name] = Array.new(seeds) { |number| yield(way, @seed + number).tap { advance.call } }
          end
        end
      end

      # @return [Hash{String => Array}] name => results by seed; after an interrupt, only complete ones
      def simulated = @simulated.to_h

      def seeds = [@runs, SEEDS].min

      # @return [Array<String>] labels of the measured clients, Trunkline first
      def measured = peers.map(&:label) & samples.keys.map { |key| Array(key).first }

      def trunkline?(label) = label.start_with?("Trunkline")

      # @param values [Array<Numeric>]
      # @return [Figure]
      def figure(label, what, values, unit: "x", key: false)
        @result.figure(values, name: "#{label}: #{what}", group: what, label: label, unit: unit, better: "lower",
                               key: key)
      end
    end
  end
end
