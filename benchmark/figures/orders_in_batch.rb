# frozen_string_literal: true

require_relative "../support/figure"

module Bench
  module Figures
    # The call of a service (Orders) in a batch, against the same one at a time.
    class OrdersInBatch
      AT_ONCE = 50
      CPU = [0.5, 0.35].freeze

      def title = "POST of an order, #{AT_ONCE} in flight"

      def call(suite)
        suite.with_ours(base: suite.origin.plain) do |ours|
          ours.ask(:order_digest, path: Origin::ORDERS)
          samples = suite.repeat { [nil, AT_ONCE].shuffle.to_h { |at_once| [at_once, cost(suite, ours, at_once)] } }
          bar, reach = CPU
          suite.add_cost(title, samples.map { |sample| sample[AT_ONCE] / sample[nil] },
                         "CPU per request against one at a time", "x", bar: bar, reach: reach)
          suite.add_cost(title, samples.map { |sample| sample[AT_ONCE] }, "CPU", "us/request")
          suite.add_cost(title, samples.map { |sample| sample[nil] }, "CPU one at a time", "us/request")
        end
      end

      private

      def cost(suite, ours, at_once)
        taken = ours.ask(:orders, path: Origin::ORDERS, seconds: suite.settings.seconds, **{ at_once: at_once }.compact)
        taken[:cpu] / taken[:requests] * 1e6
      end
    end
  end
end
