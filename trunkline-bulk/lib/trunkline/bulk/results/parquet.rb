# frozen_string_literal: true

require "json"
require_relative "../results"
require_relative "lines"

module Trunkline
  class Bulk
    module Results
      # Writes Parquet with the gem red-parquet. A Parquet file cannot be continued, so rows are kept in a file of JSON
      # lines beside it, and the Parquet files are written anew from these lines at the end of each start:
      # results.parquet, results.1.parquet and so on.
      class Parquet
        # The maximum number of rows in a file.
        ROWS = 100_000
        private_constant :ROWS

        # @param path [String]
        # @raise [Unavailable]
        def initialize(path)
          require "parquet"
          @path = path
          @lines = Lines.new("#{path}.jsonl")
        rescue LoadError
          raise Unavailable, "results in .parquet need the gem red-parquet, and Apache Arrow's libraries"
        end

        # @param row [Hash]
        def <<(row)
          @lines << row
          self
        end

        # @return [void]
        def flush = @lines.flush

        # @param flush [Boolean] false to discard the buffered rows
        # @return [void]
        def close(flush: true)
          @lines.close(flush: flush)
          File.foreach("#{@path}.jsonl", encoding: Encoding::UTF_8).each_slice(ROWS).with_index do |lines, number|
            save(lines.map { |line| JSON.parse(line) }, number)
          end
        end

        private

        def save(rows, number)
          names = rows.flat_map(&:keys).uniq
          columns = names.to_h { |name| [name.to_sym, rows.map { |row| text(row[name]) }] }
          path = number.zero? ? @path : @path.sub(/\.parquet\z/, ".#{number}.parquet")
          Arrow::Table.new(columns).save(path, format: :parquet)
        end

        def text(value) = value.is_a?(Hash) ? JSON.generate(value) : value
      end
    end
  end
end
