# frozen_string_literal: true

require_relative "../support/competitors"
require_relative "../support/figure"

module Bench
  module Figures
    # Calls in a process in which another thread computes all the time, as in a busy Puma. CRuby gives that thread a
    # time slice of 100 ms each time a call releases the GVL, so the figure depends on how often a call releases it, not
    # on the machine.
    class BesideComputing
      # Long enough for several calls of the slowest client.
      SECONDS = 1.5
      CONCURRENCY = 10
      # Milliseconds per call: a fifth of one time slice of 100 ms.
      BAR = 20

      def title = "Beside a thread that computes, distinct URLs"

      def call(suite)
        # The peers of reach/ are the same clients, used in other ways.
        peers = suite.peers.reject { |peer| peer.file.include?("/reach/") }
        compare(suite, Work.beside_computing(Origin::SMALL), peers, "one at a time: ms for a call")
        compare(suite, Work.beside_computing(Origin::SMALL, concurrency: CONCURRENCY),
                peers.select { |peer| peer.method_defined?(:list) },
                "#{CONCURRENCY} in flight: ms for #{CONCURRENCY} calls", calls: CONCURRENCY)
      end

      private

      def compare(suite, work, peers, what, calls: 1)
        Competitors.open(suite, work) do |competitors|
          competitors.add_first(Peers::Trunkline, core: nil)
          (peers - [Peers::Trunkline]).each { |peer| competitors.add(peer, core: nil) }
          samples = suite.repeat { competitors.members.shuffle.to_h { |member| [member, time(member) * calls] } }
          competitors.members.each_with_index do |member, index|
            suite.add_cost(title, samples.map { |sample| sample.fetch(member) }, "#{what} of #{member.label}", "ms",
                           bar: (BAR if index.zero?))
          end
        end
      end

      # @return [Float] milliseconds per call
      def time(member)
        sample = member.sample(SECONDS)
        sample[:wall] * 1000 / sample[:requests]
      end
    end
  end
end
