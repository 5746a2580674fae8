# frozen_string_literal: true

require_relative "test_helper"

# Items are decoded as they were encoded, for all types that are allowed.
class TestCodec < Minitest::Test
  Codec = Trunkline::Bulk::Codec

  { texts: ["a", "é", "", "[x]", "{y}", "a\nb"], none: [], binary: ["\xC3".b, "\xA9".b],
    halves_of_a_character: ["\xC3", "\xA9"], latin: ["caf\xE9".dup.force_encoding("ISO-8859-1"), "é"],
    ascii_of_other_encodings: ["a".encode("US-ASCII"), "b"], mixed: ["a", 1, nil, :b, 1.5, true],
    hashes: [{ "a" => [1, { b: "c" }] }, { ":a" => "_s" }], nested: [["a", ["b"]], "c"] }.each do |name, items|
    define_method("test_#{name}") do
      read = Codec.load(Codec.dump(items))
      assert_equal items, read
      assert_equal encodings(items), encodings(read) unless name == :ascii_of_other_encodings
    end
  end

  def test_what_no_item_is_made_of_is_refused
    [Object.new, [1, Object.new], Float::NAN, { 1 => 2 }].each do |item|
      error = assert_raises(Trunkline::Bulk::InvalidItem) { Codec.dump(["a", item]) }
      assert_match(/an item is made of/, error.message)
    end
  end

  private

  def encodings(items) = items.grep(String).map(&:encoding)
end
