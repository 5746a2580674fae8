# frozen_string_literal: true

require "terminal-table"

module Bench
  module Demo
    # What the demo prints: tables on standard output; what it is busy with on standard error, while that is a terminal.
    class Screen
      OURS = "Trunkline"

      def busy_with(text)
        $stderr.print("\r\e[K#{text}") if $stderr.tty?
      end

      def show(experiment)
        busy_with("")
        puts "", emphasized(experiment.title), experiment.explanation, table(experiment)
      end

      def name_missing(missing)
        return if missing.empty?

        puts "", "Not compared:", *missing.map { |label, reason| "  #{label}: #{reason}" }
      end

      private

      def table(experiment)
        rows = experiment.rows.map { |row| row.first == OURS ? row.map { |cell| emphasized(cell) } : row }
        Terminal::Table.new(headings: experiment.headings.map do |name|
          name.sub(": ", "\n")
        end, rows: rows).tap do |table|
          numbers = experiment.rows.transpose.map { |column| column.all?(/\A[\d.]+x?\z/) }
          numbers.each_with_index { |number, column| table.align_column(column, :right) if number }
        end
      end

      def emphasized(text) = $stdout.tty? && !ENV.key?("NO_COLOR") ? "\e[1m#{text}\e[0m" : text
    end
  end
end
