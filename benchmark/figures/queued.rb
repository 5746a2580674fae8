# frozen_string_literal: true

require_relative "../support/figure"

module Bench
  module Figures
    # Memory of requests that wait in a batch, each with its own URL and block.
    class Queued
      REQUESTS = 100_000
      SECONDS = 120

      def title = "#{REQUESTS} requests with distinct URLs queued at once"

      def call(suite)
        samples = suite.repeat do
          # A process for each sample: freed memory that a process keeps would hide the growth of a later sample.
          suite.with_ours(base: suite.origin.plain) do |ours|
            ours.ask(:queued, path: Origin::SMALL, count: REQUESTS, limit: SECONDS)
          end
        end
        add(suite, samples, :queued, "resident memory for each while they wait", bar: 1024)
        add(suite, samples, :peak, "the most for each while they run")
      end

      private

      def add(suite, samples, what, name, **rest)
        suite.add(Figure.of(samples.map { |sample| sample[what] }, name: "#{title}: #{name}", unit: "bytes",
                                                                   better: "lower", **rest))
      end
    end
  end
end
