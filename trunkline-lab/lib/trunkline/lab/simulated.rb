# frozen_string_literal: true

require_relative "repeats"

module Trunkline
  module Lab
    # For experiments that are made twice: in a simulation, and by clients that send CALLS calls in each of RUNS runs to
    # a server of the lab's own.
    module Simulated
      include Repeats

      SEEDS = 5 # at the most: more runs of a simulation tell no more

      private

      def options(parser)
        parser.on("--seed N", Integer, "of the first simulated run; each has the next one (1)") do |seed|
          @seed = seed
        end
        parser.on("--simulation", "the simulation alone: nothing is sent") { @simulation_alone = true }
        peer_choice(parser)
        time_option(parser)
      end

      def arguments(rest) = calls_and_runs(rest)

      def known_peers
        all = Peer.with_policies
        self.class::CLIENTS.map { |id| all.find { |peer| peer.id == id } }
      end

      # Runs each way to make calls with each seed.
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

      # @return [Hash{String => Array}] name => what each seed gave; after an interrupt, those that are whole
      def simulated = @simulated.to_h

      def seeds = [@runs, SEEDS].min

      # @return [Array<String>] the labels of those that were measured, our own first
      def measured = peers.map(&:label) & samples.keys.map { |key| Array(key).first }

      def ours?(label) = label.start_with?("Trunkline")

      # @param values [Array<Numeric>]
      # @return [Figure]
      def figure(label, what, values, unit: "x", key: false)
        @result.figure(values, name: "#{label}: #{what}", group: what, label: label, unit: unit, better: "lower",
                               key: key)
      end
    end
  end
end
