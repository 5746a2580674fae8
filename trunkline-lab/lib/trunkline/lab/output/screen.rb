# frozen_string_literal: true

require "terminal-table"
require "tty-progressbar"
require_relative "../environment"
require_relative "text_chart"

module Trunkline
  module Lab
    # What becomes of a result: text, files, a page.
    module Output
      # What is printed: results on standard output; on standard error what the lab is busy with, while that is a
      # terminal.
      class Screen
        OURS = /\ATrunkline\b/
        NUMBER = /\A[<>~-]?[\d.,]+\s*(%|x|us|ms|s)?\z/

        def initialize(out, err, quiet: false)
          @out = out
          @err = err
          @quiet = quiet
        end

        def busy(text)
          @err.print("\r\e[K#{text[0, 78]}") if @err.tty? && !@quiet
        end

        # @yield [bar] which is told #advance after each step
        def progress(title, steps)
          busy("")
          if @err.tty? && !@quiet
            bar = TTY::ProgressBar.new("#{title} [:bar] :percent :eta", total: steps, output: @err, width: 30,
                                                                        clear: true)
          end
          yield -> { bar&.advance }
        ensure
          bar&.stop
        end

        def show(result)
          busy("")
          unless @quiet
            heading(result.title)
            result.charts.each { |chart| print_chart(chart) }
            result.tables.each { |table| print_table(table) }
          end
          @out.puts(*result.sentences)
          footer(result)
        end

        private

        def heading(title) = @out.puts("", strong(title), "")

        def print_chart(chart)
          text = TextChart.of(chart, color: color?)
          @out.puts(text, "") if text
        end

        def print_table(table)
          table = fitted(table)
          rows = table[:rows].map { |row| OURS.match?(row.first.to_s) ? row.map { |cell| strong(cell.to_s) } : row }
          @out.puts(strong(table[:title])) if table[:title]
          made = Terminal::Table.new(headings: table[:columns], rows: rows)
          numbers(table).each { |column| made.align_column(column, :right) }
          @out.puts(made, *table[:note], "")
        end

        def numbers(table)
          table[:columns].each_index.select { |column| table[:rows].all? { |row| NUMBER.match?(row[column].to_s) } }
        end

        # On a terminal that is too narrow, the columns that one can do without are left out, the last first.
        def fitted(table)
          table[:optional].to_a.reverse_each do |name|
            break if !@out.tty? || wide(table) <= TextChart.columns

            index = table[:columns].index(name) or next
            table = table.merge(columns: without(table[:columns], index),
                                rows: table[:rows].map { |row| without(row, index) })
          end
          table
        end

        def wide(table)
          [table[:columns], *table[:rows]].transpose.sum { |column| column.map { |c| c.to_s.size }.max + 3 } + 1
        end

        def without(list, index) = list.reject.with_index { |_, position| position == index }

        def footer(result)
          if result.missing.any? && !@quiet
            @out.puts("", "Not measured:", *result.missing.map { |label, reason| "  #{label}: #{reason}" })
          end
          @out.puts("", Environment.sentence(result.to_h[:environment])) unless @quiet
          result.noise.each { |reason| @out.puts("", strong("This is not a result: #{reason}.")) }
          @out.puts("", "Interrupted: this is what there was until then.") if result.interrupted
        end

        def strong(text) = color? ? "\e[1m#{text}\e[0m" : text

        def color? = @out.tty? && !ENV.key?("NO_COLOR")
      end
    end
  end
end
