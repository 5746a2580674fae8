# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/memo"

class TestMemo < UnitTest
  Memo = Trunkline::Memo

  def test_what_is_kept_is_given_back
    cache = {}
    assert_equal 1, Memo.keep(cache, 3, :a, 1)
    assert_equal 1, cache[:a]
  end

  def test_it_is_bounded
    cache = {}
    100.times { |number| Memo.keep(cache, 3, number, number) }
    assert_operator cache.size, :<=, 3
    assert_equal 99, cache[99]
  end

  def test_a_url_that_changes_is_another
    cache = {}
    url = +"http://a.test/"
    Memo.keep_url(cache, 3, url, 1)
    url << "x"
    assert_nil cache[url]
    assert_equal 1, cache["http://a.test/"]
  end

  def test_long_urls_and_other_objects_are_not_kept
    cache = {}
    assert_equal 1, Memo.keep_url(cache, 3, "x" * 5000, 1)
    assert_equal 2, Memo.keep_url(cache, 3, nil, 2)
    assert_empty cache
  end
end
