# frozen_string_literal: true

require "uri"
require_relative "../support/unit_test"
require "trunkline/query"

class TestQuery < UnitTest
  # params => the same query as Faraday's default encoder writes
  ENCODED = {
    {} => "",
    { a: 1 } => "a=1",
    { "b" => 2, a: 1 } => "a=1&b=2",
    { a: nil } => "a",
    { a: "" } => "a=",
    { a: true, b: false } => "a=true&b=false",
    { a: 1.5 } => "a=1.5",
    { a: [1, 2] } => "a%5B%5D=1&a%5B%5D=2",
    { a: [] } => "a%5B%5D",
    { a: [nil] } => "a%5B%5D",
    { a: [[1, 2], [3]] } => "a%5B%5D%5B%5D=1&a%5B%5D%5B%5D=2&a%5B%5D%5B%5D=3",
    { a: { b: 1 } } => "a%5Bb%5D=1",
    { a: { c: 2, b: { d: [3] } } } => "a%5Bb%5D%5Bd%5D%5B%5D=3&a%5Bc%5D=2",
    { a: [{ b: 1 }, { b: 2 }] } => "a%5B%5D%5Bb%5D=1&a%5B%5D%5Bb%5D=2",
    { a: {} } => "",
    { "a b" => "c d" } => "a+b=c+d",
    { "ü" => "ö&=+%" } => "%C3%BC=%C3%B6%26%3D%2B%25",
    { a: "-._~*'()!" } => "a=-._~%2A%27%28%29%21",
    { a: "\xff".b } => "a=%FF"
  }.freeze

  ENCODED.each do |given, expected|
    define_method(:"test_#{given.inspect}") { assert_equal expected, Trunkline::Query.encode(given) }
  end

  def test_values_without_a_text_form_are_refused
    point = Struct.new(:x).new("secret")
    refused = [{ a: point }, { a: [Object.new] }, { a: { b: $stdout } }, { point => 1 }, { a: { point => 1 } }]
    refused.each do |given|
      message = assert_raises(Trunkline::InvalidRequest, given.inspect) { Trunkline::Query.encode(given) }.message
      # Since Ruby 3.2 an IO has a path.
      assert_match(/\Aparams: must be made of Strings, .* got (an instance of |"<STDOUT>"\z)/, message)
      refute_includes message, "secret"
    end
    assert_equal "a=%23%3Cb%3E", Trunkline::Query.encode({ a: "#<b>" })
    assert_equal "a=http%3A%2F%2Fb", Trunkline::Query.encode({ a: URI("http://b") })
  end

  def test_a_file_in_a_form_is_refused_with_a_hint
    message = assert_raises(Trunkline::InvalidRequest) { Trunkline::Query.encode({ a: $stdout }, "form") }.message
    assert_includes message, "files belong into multipart:"
  end

  def test_an_io_without_a_path
    IO.pipe do |reader, _writer|
      message = assert_raises(Trunkline::InvalidRequest) { Trunkline::Query.encode({ a: reader }) }.message
      assert_match(/got an instance of IO\z/, message)
    end
  end

  def test_nothing
    assert_equal "", Trunkline::Query.encode(nil)
  end

  def test_names_are_equal_as_symbol_and_string_and_the_later_counts
    assert_equal "a=2&b=3", Trunkline::Query.encode({ a: 1, b: 3, "a" => 2 })
    assert_equal "a=1", Trunkline::Query.encode({ "a" => 2, a: 1 })
    assert_equal "a%5Bb%5D=2", Trunkline::Query.encode({ a: { "b" => 1, b: 2 } })
  end

  def test_pairs_keep_their_order
    assert_equal "b=1&a=2&b=3", Trunkline::Query.encode([["b", 1], [:a, 2], ["b", 3]])
  end

  def test_invalid_params_are_refused
    assert_refused("params", "5") { Trunkline::Query.encode(5) }
    assert_refused("form", "pair") { Trunkline::Query.encode([1], "form") }
  end

  # As URI.encode_www_form does, the bytes are encoded in any encoding.
  def test_texts_that_are_not_ascii_compatible
    wide = "a".encode("UTF-16LE")
    [wide, wide.to_sym].each { |text| assert_equal "a%00=a%00", Trunkline::Query.encode(text => text) }
  end
end
