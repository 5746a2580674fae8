# frozen_string_literal: true

require_relative "test_helper"
require "minitest/mock"
require "trunkline/lab/output/text_table"

module Trunkline
  module Lab
    # Tables and charts on terminals of any width.
    class TestTextTable < Minitest::Test
      TABLE = { columns: %w[client seen], rows: [["Trunkline", "the server got it once"], ["Net::HTTP", 2]] }.freeze

      def text(width) = Output::TextTable.new(TABLE, width: width) { |text| "*#{text}*" }.to_s

      def test_a_pipe_has_no_width
        assert_includes text(nil), "| *Trunkline* | *the server got it once* |"
      end

      def test_prints_each_row_as_a_list_when_the_table_is_too_wide
        assert_equal "*Trunkline*\n  seen: the server got it once\nNet::HTTP\n  seen: 2", text(37)
        assert_includes text(38), "+-"
      end

      def test_numbers_are_right_aligned
        table = { columns: %w[client ms], rows: [["a", "1.5"], ["b", "10.25"]] }

        assert_includes Output::TextTable.new(table) { |text| text }.to_s, "| a      |   1.5 |"
      end

      def test_a_chart_is_no_wider_than_the_terminal
        bars = { kind: "bars", title: "t", unit: "ms", bars: [{ label: "Trunkline", value: 5 }] }
        [50, 80, 300].each do |columns|
          Output::TextChart.stub(:columns, columns) do
            assert_operator Output::TextChart.of(bars).lines.map { |line| line.chomp.size }.max, :<=, [columns, 100].min
          end
        end
      end
    end
  end
end
