# frozen_string_literal: true

module Bench
  module Figures
    # What a GET costs that the client's cache answers: CPU, status and body read. The URLs differ; each was asked for
    # once before.
    class CacheHits
      URLS = 500 # in one turn
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
