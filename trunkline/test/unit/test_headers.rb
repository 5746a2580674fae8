# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/headers"

class TestHeaders < UnitTest
  Headers = Trunkline::Headers

  def setup
    @headers = Headers.new([%w[Content-Type text/plain], %w[Set-Cookie a=1], %w[X-A 1], %w[set-cookie b=2]])
  end

  def test_names_are_compared_without_case
    assert_equal "text/plain", @headers["content-TYPE"]
    assert_equal "text/plain", @headers[:content_type]
    assert_nil @headers["absent"]
  end

  def test_repeated_fields_are_joined_and_available_separately
    assert_equal "a=1, b=2", @headers["set-cookie"]
    assert_equal %w[a=1 b=2], @headers.get_all("Set-Cookie")
    assert_equal %w[1], @headers.values("x-a")
    assert_empty @headers.get_all("absent")
  end

  def test_the_order_is_kept
    assert_equal %w[Content-Type Set-Cookie X-A set-cookie], @headers.each.map(&:first)
    assert_equal %w[Content-Type Set-Cookie X-A], @headers.names
    assert_equal 4, @headers.size
  end

  def test_as_a_hash
    assert_equal({ "content-type" => "text/plain", "set-cookie" => "a=1, b=2", "x-a" => "1" }, @headers.to_h)
  end

  def test_fetch
    assert_equal "1", @headers.fetch("x-a")
    assert_equal "x", @headers.fetch("absent", "x")
    assert_nil @headers.fetch("absent", nil)
    assert_equal "absent!", @headers.fetch("absent") { |name| "#{name}!" }
    assert_raises(KeyError) { @headers.fetch("absent") }
  end

  def test_key
    assert @headers.key?("X-a")
    refute @headers.key?("x-b")
    assert_empty Headers.new
  end

  def test_equality_is_without_case_of_names
    assert_equal Headers.new([%w[A 1]]), Headers.new([%w[a 1]])
    refute_equal Headers.new([%w[A x]]), Headers.new([%w[A X]])
    assert_equal Headers.new([%w[A 1]]).hash, Headers.new([%w[a 1]]).hash
  end

  def test_headers_are_frozen
    assert_predicate @headers, :frozen?
    @headers.to_a.first << "more"
    assert_equal %w[Content-Type text/plain], @headers.first
  end

  def test_credentials_are_not_shown
    names = %w[Authorization Cookie Set-Cookie Proxy-Authorization X-Api-Key x-api-key]
    refute_includes Headers.new(names.map { |name| [name, "geheim"] }).inspect, "geheim"
  end

  def test_pairs_of_the_forms_a_caller_may_pass
    given = { "A" => "1", x_id: 5, "B" => %w[1 2], "C" => nil, "D" => :sym, "E" => 1.5 }
    assert_equal [%w[A 1], %w[x-id 5], %w[B 1], %w[B 2], ["C", nil], %w[D sym], %w[E 1.5]], Headers.pairs(given)
    assert_equal [%w[A 1], %w[A 2]], Headers.pairs([%w[A 1], %w[A 2]])
    assert_equal @headers.to_a, Headers.pairs(@headers)
  end

  def test_white_space_around_a_value_is_none_of_it
    assert_equal [["A", "x y"]], Headers.pairs("A" => " x y\t")
  end

  def test_values_may_be_utf_8_or_bytes
    assert_equal [%w[A grün], ["B", "\xff".b]], Headers.pairs("A" => "grün", "B" => "\xff".b)
  end

  def test_later_changes_by_the_caller_have_no_effect
    value = +"1"
    pairs = Headers.pairs("A" => value)
    value << "2"
    assert_equal [%w[A 1]], pairs
  end

  ["", " ", "a b", "a:", "a\r\n", "a\0", "ä", "(a)", "a\n", 5, nil].each do |name|
    define_method(:"test_the_name_#{name.inspect}_is_refused") do
      assert_refused("headers") { Headers.pairs(name => "1") }
    end
  end

  ["a\r\nX: 1", "a\nb", "a\r", "a\0b", "\x7f", "\x01", "ä\n"].each do |value|
    define_method(:"test_the_value_#{value.inspect}_is_refused") do
      assert_refused("headers: A", "CR, LF, NUL") { Headers.pairs("A" => value) }
    end
  end

  def test_a_refused_value_is_not_shown
    refute_includes assert_refused("headers: Authorization") { Headers.pairs("Authorization" => "geheim\n") }.message,
                    "geheim"
  end

  def test_values_of_other_kinds_are_refused
    [{}, Object.new, true].each { |value| assert_refused("headers: A") { Headers.pairs("A" => value) } }
    ["x", 5, nil].each { |given| assert_refused("headers") { Headers.pairs(given) } }
    [[["A"]], [%w[A 1 2]], ["A"], [nil]].each { |given| assert_refused("headers", "pairs") { Headers.pairs(given) } }
  end

  def test_overlay_replaces_without_case
    assert_equal [%w[B 2], %w[a 3]], Headers.overlay([%w[A 1], %w[B 2]], [%w[a 3]])
    assert_equal [%w[A 1]], Headers.overlay([%w[A 1]], [])
  end

  def test_repeated_values_in_different_encodings_are_joined_as_bytes
    headers = Headers.new([%w[A ü], ["a", "\xFC".b], %w[B ü], %w[B x]])
    assert_equal "ü, \xFC".b, headers["a"]
    assert_equal({ "a" => "ü, \xFC".b, "b" => "ü, x" }, headers.to_h)
    assert_equal Encoding::UTF_8, headers["b"].encoding
  end

  def test_names_that_are_too_long_or_not_ascii_compatible_are_refused
    assert_equal 65_535, Headers.pairs("n" * 65_535 => "1").first.first.bytesize
    assert_refused("headers", "65535 bytes, got 65536") { Headers.pairs("n" * 65_536 => "1") }
    assert_operator assert_refused("headers") { Headers.pairs("#{"n" * 70_000} " => "1") }.message.size, :<, 200
    wide = "A".encode("UTF-16LE")
    [wide, wide.to_sym].each { |name| assert_refused("headers", "field name") { Headers.pairs(name => "1") } }
  end

  def test_basic_credentials_may_have_different_encodings
    pair = ["\xE9".dup.force_encoding("ISO-8859-1"), "é"]
    assert_equal "Basic #{["\xE9:\xC3\xA9".b].pack("m0")}", Headers.basic(pair)
  end
end
