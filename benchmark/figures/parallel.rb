# frozen_string_literal: true

require_relative "../support/figure"

module Bench
  module Figures
    # Faraday's in_parallel to a server that takes 50 ms: many calls must take little longer than one.
    class Parallel
      CALLS = 15
      BAR = 2.5

      def title = "Faraday, in_parallel to a 50 ms server, distinct URLs"

      def call(suite)
        raise Tools::Failed, Origin.slow_missing if Origin.slow_missing

        process = PeerProcess.new(Peers::FaradayFacade, base: suite.origin.plain)
        process.ask(:parallel, path: Origin::HALF_SLOW, count: CALLS)
        samples = suite.repeat { [1, CALLS].shuffle.to_h { |count| [count, milliseconds(process, count)] } }
        suite.add_cost(title, samples.map { |sample| sample[1] }, "one call", "ms")
        suite.add_cost(title, samples.map { |sample| sample[CALLS] }, "#{CALLS} calls", "ms")
        suite.add_cost(title, samples.map { |sample| sample[CALLS] / sample[1] }, "#{CALLS} calls against one", "x",
                       bar: BAR)
      ensure
        process&.stop
      end

      private

      def milliseconds(process, count)
        process.ask(:parallel, path: Origin::HALF_SLOW, count: count)[:wall] * 1000
      end
    end
  end
end
