# frozen_string_literal: true

require_relative "../support/competitors"
require_relative "../support/figure"

module Bench
  module Figures
    # Calls in a process in which another thread computes all the time, as those of a busy Puma do: CRuby gives that one
    # 100 ms each time that a call lets go of the GVL. What counts is how often a call does, not the machine.
    class BesideComputing
      # Long enough for several calls of the slowest.
      SECONDS = 1.5
      AT_ONCE = 10
      # Milliseconds: the most that a twentieth of the time may make of 100 ms.
      BAR = 20

      def title = "Beside a thread that computes, distinct URLs"

      def call(suite)
        # Those of reach/ are the same clients, used in other ways.
        peers = suite.peers.reject { |peer| peer.file.include?("/reach/") }
        compare(suite, Work.beside_computing(Origin::SMALL), peers, "one at a time: ms for a call")
        compare(suite, Work.beside_computing(Origin::SMALL, at_once: AT_ONCE),
                peers.select { |peer| peer.method_defined?(:list) },
                "#{AT_ONCE} in flight: ms for #{AT_ONCE} calls", calls: AT_ONCE)
      end

      private

      def compare(suite, work, peers, what, calls: 1)
        Competitors.open(suite, work) do |competitors|
          competitors.add_first(Peers::Trunkline, pinned: false)
          (peers - [Peers::Trunkline]).each { |peer| competitors.add(peer, pinned: false) }
          samples = suite.repeat { competitors.members.shuffle.to_h { |member| [member, time(member) * calls] } }
          competitors.members.each_with_index do |member, index|
            suite.add_cost(title, samples.map { |sample| sample.fetch(member) }, "#{what} of #{member.label}", "ms",
                           bar: (BAR if index.zero?))
          end
        end
      end

      # @return [Float] milliseconds for a call
      def time(member)
        sample = member.sample(SECONDS)
        sample[:wall] * 1000 / sample[:requests]
      end
    end
  end
end
