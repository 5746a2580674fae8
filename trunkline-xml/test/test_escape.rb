# frozen_string_literal: true

require_relative "test_helper"

# The escaping and the digits in C compared with those of Builder and Ruby, at every length and position in a block.
class TestEscape < Minitest::Test
  include Child

  ALPHABET = ["a", "b", " ", "&", "<", ">", '"', "'", "\n", "\r", "\t", "\0", "\x1f", "\x7f", "\u0080", "\u0081",
              "\u009f", "\u00a0", "\u00bf", "\u00c2", "\u00ef", "\u20ac", "\ufdd0", "\ufeff", "\ufffd", "\ufffe",
              "\uffff", "\u{1ffff}", "\u{1f600}"].freeze

  def setup
    @random = Random.new(Minitest.seed)
  end

  def test_text_is_escaped_as_by_builder
    rounds(1500).times do |round|
      text = random_text(round % 70)
      assert_equal reference { Builder::XChar.encode(text) }, Trunkline::XML::Escape.text(text)
    end
  end

  def test_each_special_character_at_each_place
    ALPHABET.each do |character|
      rounds(40).times do |before|
        text = "#{"x" * before}#{character}#{"y" * (before % 19)}"
        assert_equal builders(text), written(text), text.inspect
      end
    end
  end

  def test_growth_when_everything_is_replaced
    [1, 15, 16, 17, 1000, rounds(100_000)].each do |size|
      text = '"' * size
      assert_equal builders(text), written(text)
    end
  end

  def test_any_bytes
    rounds(500).times do |round|
      text = @random.bytes(round % 50)
      [text, text.dup.force_encoding("UTF-8")].each do |string|
        assert_equal reference { Builder::XChar.encode(string) }, Trunkline::XML::Escape.text(string)
      end
    end
  end

  def test_numbers_are_as_ruby_prints_them
    numbers = [0, -1, 2**62 - 1, -(2**62), 0.0, -0.0, 1e15, 1e16, 1e-4, 0.1 + 0.2, 1 / 3.0, 999_999_999_999_999.9, Float::MAX,
               Float::MIN, Float::INFINITY, Float::NAN, 4_503_599_627_370_497.5, 0.001, 0.00095, 1.00005, 123_456.7891]
    numbers += Array.new(rounds(3000)) { (@random.rand * 10**@random.rand(-6..17)).round(@random.rand(0..7)) }
    numbers += Array.new(rounds(1000)) { @random.rand(-1e6..1e6) }
    numbers += Array.new(rounds(1000)) { @random.rand((-10**18)..(10**18)) }
    numbers.each { |number| assert_equal "<n v=\"#{number}\">#{number}</n>", Trunkline::XML::Builder.new.n(number, v: number) }
  end

  def test_redefined_to_s_of_numbers_counts
    code = "#{STRESS} class Integer; def to_s(*) = \"int\"; end; class Float; def to_s = \"float\"; end; " \
           "print Trunkline::XML::Builder.new.n(1, 2.5, a: 3, b: 4.5)"
    assert_equal %(<n a="int" b="float">intfloat</n>), ruby("-rtrunkline/xml", "-e", code)
  end

  private

  def random_text(size) = Array.new(size) { ALPHABET[@random.rand(ALPHABET.size)] }.join

  def written(text)
    Trunkline::XML::Builder.new.a(text, b: text)
  end

  def builders(text)
    reference { Builder::XmlMarkup.new.a(text, b: text) }
  end
end
