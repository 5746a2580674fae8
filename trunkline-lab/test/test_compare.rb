# frozen_string_literal: true

require_relative "test_helper"

module Trunkline
  module Lab
    class TestCompare < Minitest::Test
      include Running

      def written(folder, name, samples, command: "sweep")
        result = Result.new(command: command, title: "t", arguments: [])
        result.figure(samples, name: "requests/s", unit: "requests/s")
        result.close
        File.join(folder, name).tap { |file| File.write(file, JSON.generate(result.to_h)) }
      end

      def verdict(before, after)
        Dir.mktmpdir do |folder|
          files = [written(folder, "a.json", before), written(folder, "b.json", after)]
          status, out, err = lab("compare", *files)

          assert_equal DONE, status, err
          out[/Of 1 figures: 1 (.*)\./, 1]
        end
      end

      def test_reports_faster_slower_and_no_difference
        slow = [100.0, 101.0, 99.0, 100.5, 102.0]
        fast = [150.0, 151.0, 149.0, 150.5, 152.0]

        assert_equal "faster", verdict(slow, fast)
        assert_equal "slower", verdict(fast, slow)
        assert_equal "no difference", verdict(slow, slow.reverse)
        assert_equal "too few samples", verdict(slow.first(3), fast.first(3))
      end

      def test_a_tiny_p_value_is_not_printed_as_zero
        Dir.mktmpdir do |folder|
          files = [written(folder, "a.json", (1..16).map(&:to_f)), written(folder, "b.json", (101..116).map(&:to_f))]
          _, out, = lab("compare", *files)

          assert_includes out, "| < 0.001 |"
        end
      end

      def test_a_worse_figure_fails_with_fail_if_worse
        slow = [100.0, 101.0, 99.0, 100.5, 102.0]
        fast = [150.0, 151.0, 149.0, 150.5, 152.0]
        Dir.mktmpdir do |folder|
          before, after = [fast, slow].map.with_index { |samples, number| written(folder, "#{number}.json", samples) }

          assert_equal CROSSED, lab("compare", "--fail-if-worse", before, after).first
          assert_equal DONE, lab("compare", "--fail-if-worse", after, before).first
          assert_equal DONE, lab("compare", "--fail-if-worse", before, before).first
        end
      end

      def test_refuses_results_that_cannot_be_compared
        Dir.mktmpdir do |folder|
          sweep = written(folder, "a.json", [1.0])
          best = written(folder, "b.json", [1.0], command: "best")
          other = File.join(folder, "other.json").tap { |file| File.write(file, "{}") }

          assert_match(/is of sweep, .* of best$/, refused("compare", sweep, best))
          assert_match(/is not a result of trunkline-lab/, refused("compare", sweep, other, status: FAILED))
        end
      end
    end
  end
end
