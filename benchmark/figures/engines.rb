# frozen_string_literal: true

require_relative "../support/comparison"
require_relative "../peers/engines/trunkline_ruby"

module Bench
  module Figures
    # Compares the engine in Ruby with the clients that it must match in speed, and with the engine in C.
    class Engines
      # @param concurrency [Integer, nil] number of requests in flight in a list; nil: one call after the other
      # @param peers [Array<String>] ids
      # @param bars [Hash{String => Array}] a peer's label => how many times faster than that peer the engine must be
      def initialize(concurrency, peers, bars)
        @concurrency = concurrency
        @peers = peers
        @bars = bars
      end

      def title
        how = @concurrency ? "#{@concurrency} in flight" : "one at a time"
        "GET of #{Origin.describe(Origin::SMALL)}, distinct URLs, #{how}"
      end

      def call(suite)
        work = Work.gets(Origin::SMALL, urls: "distinct", **(@concurrency ? { concurrency: @concurrency } : {}))
        Competitors.open(suite, work, base: suite.origin.plain) do |competitors|
          competitors.add_first(Peers::TrunklineRuby)
          competitors.add(Peers::Trunkline, label: "Trunkline, engine in C")
          suite.peers.select { |peer| @peers.include?(peer.id) }.each { |peer| competitors.add(peer) }
          Comparison.new(suite, title: title, bars: @bars).call(competitors)
        end
      end
    end
  end
end
