# frozen_string_literal: true

require_relative "../support/figure"

module Bench
  module Figures
    # What a request costs when nearly all of the many in flight wait for their answer: it must not grow with them.
    class SlowOrigin
      FEW = 50
      MANY = 1000
      BAR = 1.4
      REACH = 1.0

      def title = "100 ms origin, distinct URLs"

      def call(suite)
        raise Tools::Failed, Origin.slow_missing if Origin.slow_missing

        suite.with_ours(base: suite.origin.plain) do |ours|
          samples = suite.repeat { [FEW, MANY].shuffle.to_h { |at_once| [at_once, cpu(ours, suite, at_once)] } }
          [FEW, MANY].each { |at_once| add(suite, samples.map { |sample| sample[at_once] }, "at #{at_once} in flight") }
          add(suite, samples.map { |sample| sample[MANY] / sample[FEW] }, "at #{MANY} in flight against #{FEW}",
              unit: "x", bar: BAR, reach: REACH)
        end
      end

      private

      def add(suite, samples, what, unit: "us/request", **rest)
        suite.add(Figure.of(samples, name: "#{title}: CPU #{what}", unit: unit, better: "lower", **rest))
      end

      def cpu(ours, suite, at_once)
        taken = ours.ask(:lists, path: Origin::SLOW, urls: "distinct", at_once: at_once,
                                 seconds: suite.settings.seconds)
        taken[:cpu] / taken[:requests] * 1e6
      end
    end
  end
end
