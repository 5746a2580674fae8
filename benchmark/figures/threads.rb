# frozen_string_literal: true

module Bench
  module Figures
    # Ten threads that share one client, against one thread.
    class Threads
      THREADS = 10

      def title = "Ten threads at once"

      def call(suite)
        ratios = []
        opened = suite.origin.connections do
          suite.with_ours(base: suite.origin.plain, core: nil) do |ours|
            ratios = suite.repeat { take(ours, suite.options.seconds) }
          end
        end
        suite.add(Figure.of(ratios, name: "ten threads, distinct URLs: requests/s against one thread", unit: "x",
                                    bar: 1.2))
        suite.add(Figure.new(name: "connections opened for ten threads, distinct URLs", value: opened,
                             unit: "connections", bar: THREADS, better: "lower"))
      end

      private

      def take(ours, seconds)
        rates = [1, THREADS].shuffle.to_h do |threads|
          sample = ours.ask(:from_threads, path: Origin::SMALL, seconds: seconds, threads: threads)
          [threads, sample[:requests] / sample[:wall]]
        end
        rates[THREADS] / rates[1]
      end
    end
  end
end
