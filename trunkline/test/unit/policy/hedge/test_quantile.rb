# frozen_string_literal: true

require_relative "../../../support/unit_test"
require "trunkline"

class TestQuantile < UnitTest
  def quantile(seconds = [], now = 0.0)
    Trunkline::Policy::Hedge::Quantile.new.tap { |one| seconds.each { |value| one.add(value, now) } }
  end

  def assert_near(expected, found)
    assert_in_epsilon expected, found, 0.026
  end

  def test_quantiles_of_what_was_added
    random = Random.new(16)
    seconds = Array.new(10_000) { Math.exp(random.rand * 8 - 9) }
    quantile = quantile(seconds)
    sorted = seconds.sort
    [0.5, 0.9, 0.95, 0.99, 0.999].each do |share|
      assert_near sorted[(share * sorted.size).ceil - 1], quantile.quantile(share, 0.0)
    end
    assert_equal 10_000, quantile.count(0.0)
  end

  def test_few_values
    assert_nil quantile.quantile(0.95, 0.0)
    assert_near 0.2, quantile([0.2]).quantile(0.5, 0.0)
    assert_near 0.3, quantile([0.1, 0.3]).quantile(0.95, 0.0)
    assert_near 0.1, quantile([0.1, 0.3]).quantile(0.5, 0.0)
  end

  def test_extreme_values_are_counted
    quantile = quantile([0.0, -1.0, 1e-9])
    assert_in_delta 0.0, quantile.quantile(0.5, 0.0), 1e-4
    assert_operator quantile([1e9]).quantile(0.5, 0.0), :>=, 990
  end

  def test_values_that_are_minutes_old_are_removed
    quantile = quantile([1.0] * 100, 1000.0)
    quantile.add(0.01, 1060.0)
    assert_equal 101, quantile.count(1060.0)
    assert_near 1.0, quantile.quantile(0.95, 1060.0)
    quantile.add(0.01, 1130.0)
    assert_equal 2, quantile.count(1130.0)
    assert_near 0.01, quantile.quantile(0.95, 1130.0)
    assert_equal 0, quantile.count(100_000.0)
    assert_nil quantile.quantile(0.95, 100_000.0)
  end

  def test_quantiles_follow_a_change
    quantile = quantile([0.1] * 50)
    assert_near 0.1, quantile.quantile(0.95, 0.0)
    50.times { quantile.add(2.0, 0.0) }
    assert_near 2.0, quantile.quantile(0.95, 0.0)
  end

  def test_an_earlier_time_counts_as_the_last_one
    quantile = quantile([0.1], 500.0)
    quantile.add(0.1, 10.0)
    assert_equal 2, quantile.count(10.0)
  end

  def test_to_h_reports_count_and_quantiles
    assert_equal({ count: 0, p50: nil, p95: nil, p99: nil }, quantile.to_h)
    stats = quantile((1..100).map { |one| one / 100.0 }).to_h
    assert_equal 100, stats[:count]
    assert_near 0.5, stats[:p50]
    assert_near 0.99, stats[:p99]
  end

  def test_threads_lose_no_duration
    quantile = quantile()
    Array.new(8) { Thread.new { 1000.times { |at| quantile.add(0.001 * at, at / 10.0) } } }.each(&:join)
    assert_equal 8000, quantile.to_h[:count]
  end
end
