# frozen_string_literal: true

require_relative "../support/figure"

module Bench
  module Figures
    # The call of a service (Orders) in a batch, against the same call one at a time.
    class OrdersInBatch
      CONCURRENCY = 50
      CPU = [0.5, 0.35].freeze

      def title = "POST of an order, distinct URLs, #{CONCURRENCY} in flight"

      def call(suite)
        suite.with_ours(base: suite.origin.plain) do |ours|
          ours.ask(:order_digest, path: Origin::ORDERS)
          samples = suite.repeat do
            [nil, CONCURRENCY].shuffle.to_h { |concurrency| [concurrency, cost(suite, ours, concurrency)] }
          end
          bar, reach = CPU
          suite.add_cost(title, samples.map { |sample| sample[CONCURRENCY] / sample[nil] },
                         "CPU per request against one at a time", "x", bar: bar, reach: reach)
          suite.add_cost(title, samples.map { |sample| sample[CONCURRENCY] }, "CPU", "us/request")
          suite.add_cost(title, samples.map { |sample| sample[nil] }, "CPU one at a time", "us/request")
        end
      end

      private

      def cost(suite, ours, concurrency)
        taken = ours.ask(:orders, path: Origin::ORDERS, seconds: suite.options.seconds,
                                  **{ concurrency: concurrency }.compact)
        taken[:cpu] / taken[:requests] * 1e6
      end
    end
  end
end
