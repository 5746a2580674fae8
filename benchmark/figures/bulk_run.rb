# frozen_string_literal: true

require "json"
require "tmpdir"
require_relative "../support/figure"

module Bench
  module Figures
    # Distinct URLs of the local nginx, as a bulk run, whose state is in SQLite, against Client#each; and the memory
    # that a million of them takes. Each is a process of its own, in pairs.
    class BulkRun
      BAR = 0.8
      MOST_MEGABYTES = 100
      # Of the requests that are asked for: those of each process in a pair.
      SHARE = 5
      RUNNER = File.expand_path("../support/bulk_runner.rb", __dir__)

      def title = "A bulk run"

      def call(suite)
        count = suite.settings.requests
        url = "#{suite.origin.plain}#{Origin::SMALL}"
        ratios = suite.repeat do
          seconds = %w[each bulk].shuffle.to_h { |way| [way, run(way, url, count / SHARE).fetch("seconds")] }
          seconds["each"] / seconds["bulk"]
        end
        suite.add(Figure.of(ratios, name: "#{count / SHARE} URLs: requests/s against client.each", unit: "x", bar: BAR))
        whole(suite, url, count)
      end

      private

      def whole(suite, url, count)
        taken = run("bulk", url, count)
        suite.add(Figure.new(name: "#{count} URLs in one run: requests/s", unit: "1/s", samples: 1, better: "higher",
                             value: count / taken.fetch("seconds")))
        suite.add(Figure.new(name: "#{count} URLs in one run: memory at its most", unit: "MB", samples: 1,
                             better: "lower",
                             value: taken.fetch("peak").fdiv(1024 * 1024), bar: MOST_MEGABYTES))
      end

      def run(way, url, count)
        Dir.mktmpdir("trunkline-bulk-") do |folder|
          output, status = Trunkline::Lab::Processes.run(RbConfig.ruby, RUNNER, way, url, count.to_s, folder,
                                                         limit: 600)
          raise Tools::Failed, output unless status.success?

          told = JSON.parse(output.lines.last)
          raise Tools::Failed, "#{told["answers"]} of #{count} answers" unless told["answers"] == count

          told
        end
      end
    end
  end
end
