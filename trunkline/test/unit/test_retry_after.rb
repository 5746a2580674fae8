# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/retry_after"

class TestRetryAfter < UnitTest
  NOW = Time.utc(2026, 1, 31, 12, 0, 0)

  def seconds(text, date = nil) = Trunkline::RetryAfter.seconds({ "retry-after" => text, "date" => date }, NOW)

  def test_seconds
    { "0" => 0.0, "3" => 3.0, "0120" => 120.0, "1.5" => 1.5, "9" * 400 => 1e9 }.each do |text, expected|
      assert_equal expected, seconds(text), text
    end
  end

  def test_each_form_of_a_date
    ["Sat, 31 Jan 2026 12:00:30 GMT", "Saturday, 31-Jan-26 12:00:30 GMT", "Sat Jan 31 12:00:30 2026"].each do |text|
      assert_in_delta 30.0, seconds(text), 0.001, text
    end
  end

  def test_a_date_is_compared_with_the_servers_own_clock
    assert_in_delta 5.0, seconds("Sat, 31 Jan 2026 13:00:05 GMT", "Sat, 31 Jan 2026 13:00:00 GMT"), 0.001
    assert_in_delta 5.0, seconds("Sat, 31 Jan 2026 12:00:05 GMT", "today"), 0.001
  end

  def test_a_date_that_is_past_means_at_once
    assert_equal 0.0, seconds("Sat, 31 Jan 2026 11:00:00 GMT")
  end

  def test_values_that_are_neither_seconds_nor_a_date
    [nil, "", "-1", "soon", "1 second", "1e3", "3, 4", "Sat, 31 Foo 2026 12:00:30 GMT"].each do |text|
      assert_nil seconds(text), text.inspect
    end
  end
end
