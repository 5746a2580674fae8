# frozen_string_literal: true

require "terminal-table"

module Trunkline
  module Lab
    module Output
      # A table for a terminal, limited to its width: first, optional columns are left out, the last one first; if that
      # is not enough, each cell is printed on a separate line. A pipe (width nil) has no width.
      class TextTable
        OURS = /\ATrunkline\b/
        NUMBER = /\A[<>~-]?[\d.,]+\s*(%|x|us|ms|s)?\z/

        # @param table [Hash] from Result#table
        # @param width [Integer, nil]
        # @yield [text] returns the text in bold
        def initialize(table, width: nil, &strong)
          @table = table
          @width = width
          @strong = strong
        end

        # @return [String]
        def to_s
          @table = fitted
          fits?(@table) ? drawn : told
        end

        private

        def fitted
          @table[:optional].to_a.reverse.reduce(@table) do |table, name|
            index = table[:columns].index(name)
            next table if fits?(table) || index.nil?

            table.merge(columns: without(table[:columns], index), rows: table[:rows].map { |row| without(row, index) })
          end
        end

        def fits?(table) = @width.nil? || wide(table) <= @width

        def wide(table)
          [table[:columns], *table[:rows]].transpose.sum { |column| column.map { |c| c.to_s.size }.max + 3 } + 1
        end

        def without(list, index) = list.reject.with_index { |_, position| position == index }

        def drawn
          rows = @table[:rows].map { |row| trunkline?(row) ? row.map { |cell| @strong.call(cell.to_s) } : row }
          made = Terminal::Table.new(headings: @table[:columns], rows: rows)
          numbers.each { |column| made.align_column(column, :right) }
          made.to_s
        end

        def numbers
          @table[:columns].each_index.select { |column| @table[:rows].all? { |row| NUMBER.match?(row[column].to_s) } }
        end

        def told
          @table[:rows].map do |first, *rest|
            lines = @table[:columns].drop(1).zip(rest).map { |name, value| "  #{name}: #{value}" }
            [trunkline?([first]) ? @strong.call(first) : first.to_s, *lines].join("\n")
          end.join("\n")
        end

        def trunkline?(row) = OURS.match?(row.first.to_s)
      end
    end
  end
end
