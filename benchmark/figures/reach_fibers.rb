# frozen_string_literal: true

require_relative "../support/figure"

module Bench
  module Figures
    # A thousand fibers, each of which makes one call to a server that takes 50 ms: first over new connections, then
    # once more over the kept ones.
    class ReachFibers
      COUNT = 1000
      SECONDS_BAR = 0.25
      CPU_BAR = 2

      def title = "#{COUNT} fibers, one call each to a 50 ms server, distinct URLs"

      def call(suite)
        raise Tools::Failed, Origin.slow_missing if Origin.slow_missing

        ours = PeerProcess.new(Peers::TrunklineInFibers, base: suite.origin.plain)
        theirs = open_async_http(suite)
        pairs = suite.repeat { [ours, theirs].compact.shuffle.to_h { |peer| [peer, take(peer)] } }
        add_times(suite, pairs.map { |pair| pair[ours] })
        add_ratios(suite, pairs.map { |pair| [pair[ours], pair[theirs]] }) if theirs
      ensure
        [ours, theirs].compact.each(&:stop)
      end

      private

      def open_async_http(suite)
        PeerProcess.new(Peers::AsyncHTTPInFibers, base: suite.origin.plain)
      rescue Bundle::Failed => error
        suite.missing["async-http"] = error.message
        nil
      end

      def take(peer) = peer.ask(:fibers, path: Origin::HALF_SLOW, count: COUNT)

      def add_times(suite, samples)
        add(suite, samples.map { |sample| sample[:new][:wall] }, "all of it", "s", bar: SECONDS_BAR, better: "lower")
        add(suite, samples.map { |sample| sample[:kept][:wall] }, "all of it, once more", "s", better: "lower")
      end

      def add_ratios(suite, pairs)
        { new: "calls per CPU second against async-http's", kept: "the same, once more" }.each do |part, what|
          ratios = pairs.map { |ours, theirs| theirs[part][:cpu] / ours[part][:cpu] }
          add(suite, ratios, what, "x", bar: (CPU_BAR if part == :new))
        end
      end

      def add(suite, samples, what, unit, **rest)
        suite.add(Figure.of(samples, name: "#{title}: #{what}", unit: unit, **rest))
      end
    end
  end
end
