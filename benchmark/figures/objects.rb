# frozen_string_literal: true

module Bench
  module Figures
    # Ruby objects that one call costs: every one of them is work for the garbage collector later.
    class Objects
      CALLS = 2_000

      def title = "Ruby objects per call"

      def call(suite)
        suite.with_ours(base: suite.origin.plain) do |ours|
          samples = suite.repeat { ours.ask(:objects, path: Origin::SMALL, count: CALLS)[:objects] }
          suite.add(Figure.of(samples, name: "Ruby objects per GET (status, one header, body read)", unit: "objects",
                                       bar: 12, reach: 6, better: "lower"))
        end
      end
    end
  end
end
