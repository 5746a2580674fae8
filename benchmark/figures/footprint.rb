# frozen_string_literal: true

module Bench
  module Figures
    # The memory, file descriptors and threads that a process has gained after a million calls.
    class Footprint
      # The resident size of any Ruby process varies by some pages; a leak of one small object per call would be 40 MB.
      FLAT_MB = 2
      SLOWEST_RATE = 2_000 # requests/s; slower is stuck

      def title = "Footprint of many calls"

      def call(suite)
        count = suite.options.requests
        held = suite.with_ours(base: suite.origin.plain) do |ours|
          ours.ask(:footprint, path: Origin::SMALL, count: count, limit: 60 + (count / SLOWEST_RATE))
        end
        grown = held[:before].to_h { |name, before| [name, held[:after][name] - before] }
        megabytes = grown[:rss_kb] / 1024.0
        suite.add(Figure.new(name: "growth of memory over #{count} requests, distinct URLs", unit: "MB",
                             value: megabytes, bar: FLAT_MB, better: "lower", samples: 1))
        suite.add(Figure.new(name: "descriptors and threads left over, distinct URLs", unit: "",
                             value: grown[:descriptors] + grown[:threads], bar: 0, better: "lower", samples: 1))
      end
    end
  end
end
