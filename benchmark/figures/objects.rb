# frozen_string_literal: true

module Bench
  module Figures
    # Ruby objects that one call allocates, all of which the garbage collector has to free later. They are counted by
    # GC.stat(:total_allocated_objects) over many calls; the URLs, and the block of a batch, are made before.
    class Objects
      CALLS = 2_000
      CONCURRENCY = 50

      def title = "Ruby objects per GET (status, one header field, body read)"

      def call(suite)
        suite.with_ours(base: suite.origin.plain) do |ours|
          add(suite, ours, "distinct URLs, single", bar: 12, reach: 8)
          add(suite, ours, "distinct URLs, in a batch", concurrency: CONCURRENCY, bar: 8, reach: 5)
          add(suite, ours, "repeated URLs, single", urls: "repeated", bar: 12, reach: 6)
        end
      end

      private

      def add(suite, ours, what, bar:, reach:, urls: "distinct", **options)
        samples = suite.repeat do
          ours.ask(:objects, path: Origin::SMALL, urls: urls, count: CALLS, **options)[:objects]
        end
        suite.add_cost(title, samples, what, "objects", bar: bar, reach: reach)
      end
    end
  end
end
