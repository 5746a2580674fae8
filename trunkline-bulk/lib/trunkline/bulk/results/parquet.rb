# frozen_string_literal: true

require "json"
require_relative "../results"

module Trunkline
  class Bulk
    module Results
      # Parquet, by the gem red-parquet. A file of it cannot be continued, so that each start of a run writes one more:
      # results.parquet, results.1.parquet and so on.
      class Parquet
        ROWS = 10_000
        private_constant :ROWS

        # @param path [String]
        # @raise [Unavailable]
        def initialize(path)
          require "parquet"
          @path = path
          @number = 0
          @rows = []
        rescue LoadError
          raise Unavailable, "results in .parquet need the gem red-parquet, and Apache Arrow's libraries"
        end

        # @param row [Hash]
        def <<(row)
          @rows << row
          flush if @rows.size >= ROWS * 10
          self
        end

        # @return [void]
        def flush
          return if @rows.empty?

          names = @rows.flat_map(&:keys).uniq
          columns = names.to_h { |name| [name.to_sym, @rows.map { |row| text(row[name]) }] }
          Arrow::Table.new(columns).save(free_path, format: :parquet)
          @rows.clear
        end

        # @return [void]
        def close = flush

        private

        def text(value) = value.is_a?(Hash) ? JSON.generate(value) : value

        def free_path
          path = @path
          path = @path.sub(/\.parquet\z/, ".#{@number += 1}.parquet") while File.exist?(path)
          path
        end
      end
    end
  end
end
