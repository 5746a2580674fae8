# frozen_string_literal: true

require_relative "../support/figure"

module Bench
  module Figures
    # The cost of a request while nearly all of the many in flight wait for their responses: it must not grow with their
    # number.
    class SlowOrigin
      FEW = 50
      MANY = 1000
      BAR = 1.4
      REACH = 1.0

      def title = "100 ms origin, distinct URLs"

      def call(suite)
        raise Tools::Failed, Origin.slow_missing if Origin.slow_missing

        suite.with_ours(base: suite.origin.plain) do |ours|
          samples = suite.repeat do
            [FEW, MANY].shuffle.to_h { |concurrency| [concurrency, cpu(ours, suite, concurrency)] }
          end
          [FEW, MANY].each do |concurrency|
            add(suite, samples.map { |sample| sample[concurrency] }, "at #{concurrency} in flight")
          end
          add(suite, samples.map { |sample| sample[MANY] / sample[FEW] }, "at #{MANY} in flight against #{FEW}",
              unit: "x", bar: BAR, reach: REACH)
        end
      end

      private

      def add(suite, samples, what, unit: "us/request", **rest)
        suite.add(Figure.of(samples, name: "#{title}: CPU #{what}", unit: unit, better: "lower", **rest))
      end

      def cpu(ours, suite, concurrency)
        taken = ours.ask(:lists, path: Origin::SLOW, urls: "distinct", concurrency: concurrency,
                                 seconds: suite.options.seconds)
        taken[:cpu] / taken[:requests] * 1e6
      end
    end
  end
end
