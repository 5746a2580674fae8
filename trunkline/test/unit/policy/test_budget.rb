# frozen_string_literal: true

require_relative "../../support/unit_test"
require "trunkline"

class TestBudget < UnitTest
  def budget(**options) = Trunkline::Policy::Budget.new(ratio: 0.1, most: 10, **options)

  def taken(budget, tries, now) = Array.new(tries) { budget.take(now) }.count(true)

  def test_ten_calls_pay_for_one_more
    budget = budget()
    9.times { budget.deposit(0.0) }
    refute budget.take(0.0)
    budget.deposit(0.0)
    assert budget.take(0.0)
    refute budget.take(0.0)
    assert_equal({ tokens: 0.0, most: 10.0, taken: 1, refused: 2 }, budget.to_h)
  end

  def test_no_more_than_the_ratio_in_the_long_run
    budget = budget()
    taken = Array.new(10_000) do |call|
      budget.deposit(call / 100.0)
      budget.take(call / 100.0)
    end
    assert_in_delta 1000, taken.count(true), 1
  end

  def test_a_budget_holds_at_most_its_maximum
    budget = budget()
    1000.times { budget.deposit(0.0) }
    assert_equal 10, taken(budget, 50, 0.0)
  end

  def test_seconds_pay_from_the_first_call_on
    budget = budget(per_second: 2.0)
    refute budget.take(5.0)
    assert_equal 3, taken(budget, 10, 6.5)
    assert_equal 10, taken(budget, 50, 600.0)
  end

  def test_a_budget_may_start_with_tokens
    assert_equal 3, taken(budget(initial: 3), 10, 0.0)
    assert_equal 10, taken(budget(initial: 30), 20, 0.0)
  end

  def test_a_time_that_is_earlier_than_the_last_changes_nothing
    budget = budget(per_second: 1.0)
    budget.deposit(10.0)
    refute budget.take(3.0)
    refute budget.take(10.5)
    assert budget.take(10.9)
  end

  def test_threads_take_each_token_once
    budget = budget(initial: 10)
    assert_equal 10, Array.new(8) { Thread.new { taken(budget, 100, 0.0) } }.sum(&:value)
  end
end
