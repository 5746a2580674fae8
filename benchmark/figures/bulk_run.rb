# frozen_string_literal: true

require "json"
require "tmpdir"
require_relative "../support/figure"

module Bench
  module Figures
    # A million distinct URLs of the local nginx, by a bulk run that keeps its state in SQLite, against Client#each; and
    # the memory that the run takes. Each sample is a separate process; the two run in pairs.
    class BulkRun
      BAR = 0.8
      MOST_MEGABYTES = 100
      RUNNER = File.expand_path("../support/bulk_runner.rb", __dir__)

      def title = "A bulk run, distinct URLs"

      def call(suite)
        @count = suite.options.requests
        url = "#{suite.origin.plain}#{Origin::SMALL}"
        pairs = suite.repeat { %w[each bulk].shuffle.to_h { |way| [way, run(way, url)] } }
        figures(pairs).each { |figure| suite.add(figure) }
      end

      private

      def figures(pairs)
        ratios = pairs.map { |pair| pair["each"].fetch("seconds") / pair["bulk"].fetch("seconds") }
        runs = pairs.map { |pair| pair["bulk"] }
        what = "#{@count} distinct URLs in one run"
        [Figure.of(ratios, name: "#{what}: requests/s against client.each", unit: "x", bar: BAR),
         Figure.of(runs.map { |run| @count / run.fetch("seconds") }, name: "#{what}: requests/s", unit: "1/s"),
         Figure.of(runs.map { |run| run.fetch("peak").fdiv(1024 * 1024) },
                   name: "#{what}: memory at its most", unit: "MB", better: "lower",
                   bar: MOST_MEGABYTES)]
      end

      def run(way, url)
        Dir.mktmpdir("trunkline-bulk-") do |folder|
          output, status = Trunkline::Lab::Processes.run(RbConfig.ruby, RUNNER, way, url, @count.to_s, folder,
                                                         limit: 600)
          raise Tools::Failed, output unless status.success?

          result = JSON.parse(output.lines.last)
          raise Tools::Failed, "#{result["answers"]} of #{@count} answers" unless result["answers"] == @count

          result
        end
      end
    end
  end
end
