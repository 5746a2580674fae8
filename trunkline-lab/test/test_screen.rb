# frozen_string_literal: true

require_relative "test_helper"
require "minitest/mock"
require "trunkline/lab/output/screen"
require "trunkline/lab/result"

module Trunkline
  module Lab
    class TestScreen < Minitest::Test
      COLUMNS = ["client", "p50 us", "p99 us", "opened"].freeze

      def result
        result = Result.new(command: "sweep", title: "A title", arguments: [], timed: false)
        result.table(nil, COLUMNS, [["Trunkline", 10, 20, 30], ["Net::HTTP", 40, 50, 60]],
                     optional: ["opened", "p99 us"])
        result.say("A sentence.")
        result.tap(&:close)
      end

      def shown(tty: false, columns: 80, quiet: false)
        out = StringIO.new
        out.define_singleton_method(:tty?) { tty }
        Output::TextChart.stub(:columns, columns) { Output::Screen.new(out, StringIO.new, quiet: quiet).show(result) }
        out.string
      end

      def test_has_no_colour_when_piped
        refute_includes shown, "\e"
        assert_includes shown(tty: true), "\e[1m"
      end

      def test_has_no_colour_with_no_color
        before = ENV.fetch("NO_COLOR", nil)
        ENV["NO_COLOR"] = "1"

        refute_includes shown(tty: true), "\e"
      ensure
        ENV["NO_COLOR"] = before
      end

      def test_leaves_out_columns_on_a_narrow_terminal_the_last_optional_first
        assert_match(/p50 us.*p99 us.*opened/, shown(tty: true))
        narrow = shown(tty: true, columns: 34)

        assert_includes narrow, "opened"
        refute_includes narrow, "p99 us"
        assert_includes shown(columns: 34), "p99 us", "a pipe has no width"
      end

      def test_prints_only_the_sentences_when_quiet
        assert_equal "A sentence.\n", shown(quiet: true)
      end
    end
  end
end
