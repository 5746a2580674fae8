# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/memo"

class TestMemo < UnitTest
  Memo = Trunkline::Memo

  def test_a_stored_value_is_returned
    cache = {}
    assert_equal 1, Memo.keep(cache, 3, :a, 1)
    assert_equal 1, cache[:a]
  end

  def test_the_cache_is_bounded
    cache = {}
    100.times { |number| Memo.keep(cache, 3, number, number) }
    assert_operator cache.size, :<=, 3
    assert_equal 99, cache[99]
  end

  # JRuby runs these threads in parallel.
  def test_stores_by_several_threads
    cache = {}
    Array.new(4) do |thread|
      Thread.new { 10_000.times { |number| Memo.keep(cache, 100_000, "#{thread}-#{number}", number) } }
    end.each(&:join)
    assert_equal 40_000, cache.size
  end
end
