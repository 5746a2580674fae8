# frozen_string_literal: true

require "csv"
require "json"
require_relative "markdown"
require_relative "page"

module Trunkline
  module Lab
    module Output
      # Writes results to the files that the user names.
      module Files
        # Kind => what the option --kind writes.
        KINDS = {
          "json" => "the result as JSON, which compare and report read",
          "csv" => "the figures as CSV, a row for each",
          "samples" => "the samples as CSV, a row for each sample of each figure",
          "markdown" => "the sentences and tables as Markdown",
          "html" => "the result as a page with charts"
        }.freeze
        FIGURE_COLUMNS = %w[command group label figure unit better].freeze
        CSV_COLUMNS = [*FIGURE_COLUMNS, "value", "low", "high", "samples"].freeze
        SAMPLE_COLUMNS = [*FIGURE_COLUMNS, "sample", "value"].freeze

        module_function

        # @param results [Array<Hash>] from Result#to_h or Result.read; the JSON of a single result is that result
        # @param files [Hash] kind => path
        # @raise [Stop]
        def write(results, files)
          results = JSON.parse(JSON.generate(results), symbolize_names: true)
          files.each { |kind, path| save(path, public_send(kind, results)) }
        end

        def json(results) = "#{JSON.pretty_generate(results.size == 1 ? results.first : results)}\n"

        def csv(results)
          rows(CSV_COLUMNS, results) { |figure| [[figure[:value], *figure[:interval], figure[:samples].size]] }
        end

        def samples(results)
          rows(SAMPLE_COLUMNS, results) do |figure|
            figure[:samples].each.with_index(1).map { |value, number| [number, value] }
          end
        end

        # @yield [figure] returns the rows of one figure, without the columns that identify it
        def rows(columns, results)
          CSV.generate do |csv|
            csv << columns
            results.each do |result|
              result[:figures].each do |figure|
                named = [result[:command], *figure.values_at(:group, :label, :name, :unit, :better)]
                yield(figure).each { |row| csv << [*named, *row] }
              end
            end
          end
        end

        def markdown(results) = Markdown.new(results).to_s

        def html(results) = Page.new(results).to_s

        # Checks the paths before the measurement.
        # @raise [Stop]
        def check(paths)
          paths.each do |path|
            next if writable?(path)

            reason = File.directory?(File.dirname(path)) ? "no right to, or no file" : "there is no such folder"
            raise Stop, "#{path.empty? ? '""' : path} cannot be written: #{reason}"
          end
        end

        def writable?(path)
          return false if path.empty? || File.directory?(path)

          File.writable?(File.exist?(path) ? path : File.dirname(path))
        end

        def save(path, text)
          File.write(path, text)
        rescue SystemCallError => error
          raise Stop, "#{path} cannot be written: #{error.message.sub(/ @ .*/, "")}"
        end
      end
    end
  end
end
