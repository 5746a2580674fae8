# frozen_string_literal: true

module Bench
  module Figures
    # CPU of a GET that the client's cache answers, including reading its status and body. The URLs differ, and each was
    # requested once before.
    class CacheHits
      URLS = 500 # per turn
      TURNS = 30
      CREDENTIALS = { "without credentials" => nil, "with bearer:" => "0123456789abcdef" }.freeze

      def title = "A GET that the cache answers"

      def call(suite)
        suite.with_ours(base: suite.origin.plain) do |ours|
          CREDENTIALS.each do |name, bearer|
            samples = suite.repeat { ours.ask(:cache_hits, path: Origin::KEPT, count: URLS, turns: TURNS, bearer: bearer) }
            suite.add_cost(title, samples, name, "us of CPU", bar: 15.0)
          end
        end
      end
    end
  end
end
