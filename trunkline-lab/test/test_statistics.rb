# frozen_string_literal: true

require_relative "test_helper"

module Trunkline
  module Lab
    class TestStatistics < Minitest::Test
      def test_median_of_an_odd_and_an_even_number_of_samples
        assert_equal 2, Statistics.median([3, 1, 2])
        assert_equal 2.5, Statistics.median([4, 1, 2, 3])
      end

      def test_interval_holds_the_median_and_is_the_same_each_time
        samples = [10, 11, 12, 13, 14, 15, 16]
        low, high = Statistics.interval(samples)

        assert_includes low..high, 13
        assert_operator low, :<, high
        assert_equal [low, high], Statistics.interval(samples)
      end

      def test_ratio_interval_excludes_one_when_samples_lie_apart
        low, high = Statistics.ratio_interval([20, 21, 22, 23, 24], [10, 11, 12, 11, 10])

        assert_operator low, :>, 1.5
        assert_operator high, :<, 2.5
      end

      # Figures of R's wilcox.test(exact = FALSE): p = 0.01219 for 1..5 against 6..10.
      def test_mann_whitney_agrees_with_the_textbook
        assert_in_delta 0.01219, Statistics.mann_whitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), 0.0001
        assert_in_delta 1.0, Statistics.mann_whitney([1, 2, 3], [1, 2, 3]), 0.0001
        assert_in_delta 1.0, Statistics.mann_whitney([5, 5, 5], [5, 5, 5]), 0.0001
      end

      def test_histogram_keeps_three_digits_and_merges
        histogram = Histogram.of(100 => 50, 1000 => 49).merge(Histogram.of(123_456 => 1))

        assert_equal 100, histogram.size
        assert_equal 100, histogram.percentile(50)
        assert_in_delta 123_456, histogram.percentile(100), 130
        assert_equal 123_456, histogram.max
      end
    end
  end
end
