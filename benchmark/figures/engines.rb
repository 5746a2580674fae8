# frozen_string_literal: true

require_relative "../support/comparison"
require_relative "../peers/engines/trunkline_ruby"

module Bench
  module Figures
    # The engine in Ruby beside what it must be as fast as, and beside the engine in C.
    class Engines
      # @param at_once [Integer, nil] a list with so many in flight; nil: one call after the other
      # @param peers [Array<String>] ids
      # @param bars [Hash{String => Array}] label => how many times faster than that one it must be
      def initialize(at_once, peers, bars)
        @at_once = at_once
        @peers = peers
        @bars = bars
      end

      def title
        how = @at_once ? "#{@at_once} in flight" : "one at a time"
        "GET of #{Origin.describe(Origin::SMALL)}, distinct URLs, #{how}"
      end

      def call(suite)
        work = Work.gets(Origin::SMALL, urls: "distinct", **(@at_once ? { at_once: @at_once } : {}))
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
