# frozen_string_literal: true

# Random texts and small values, for names, values, paths and bodies: mostly usual ones, some in other encodings, some
# that cannot be sent everywhere. A value with the canary is a credential, which no text for people may show.
class RequestTexts
  # Has the conversions of a String, but is none.
  class StringLike
    def initialize(text)
      @text = text
    end

    def to_s = @text
    def to_str = @text
  end

  USUAL = ["a", "b", "page", "x-id", "x_id", "users/1", "a b", "a+b", "1", "", "c&d=e", "50%", "%41", "~.-_"].freeze
  OTHER = ["caf\u00e9", "\u{1F600}", "\u3042\u3044", "e\u0301", "caf\u00e9".encode("ISO-8859-1"),
           "\u20ac".encode("Windows-1252"), "ab".encode("UTF-16LE"), "\u4142\u4344".encode("UTF-16BE"),
           "a".encode("UTF-32BE"), "\u3042".encode("Shift_JIS"), "\u3042".encode("EUC-JP"), "ab".encode("UTF-16"),
           "+AGE-".dup.force_encoding("UTF-7"), "\xFF\x00z".b, "\xE9t\xE9".b, "abc".b, "abc".encode("US-ASCII"),
           "caf\u00e9".b, "\xC3", "a\xFFb", "\xED\xA0\x80", "\xFF".dup.force_encoding("US-ASCII"),
           "zz!".dup.force_encoding("UTF-16LE"), "abc".dup.force_encoding("UTF8-MAC")].freeze
  HOSTILE = ["\0", "a\0b", "a\r\nb: c", "\n", "a\tb", "\x7f", "\x01", " lead", "trail ", "\tx\t", "\r", " ", "  ",
             "a\u2028b", "\u0085", "{{x}}", "../..", "<\"'>", "\\", "`", "^|"].freeze
  LONG = ["l" * 3000, "\u00e9" * 1000, "a b" * 7000].freeze
  TEXTS = { USUAL => 20, OTHER => 6, HOSTILE => 3, LONG => 1 }.freeze
  INTEGERS = [0, 1, -1, 42, 12, 2**62, -(2**62), 2**64].freeze
  NUMBERS = [1.5, -0.0, 1e20, 1e-7, 100.0, Rational(1, 3), Complex(1, 2)].freeze
  SCALARS = { text: 15, symbol: 5, integer: 5, number: 2, constant: 2, odd: 1 }.freeze

  def initialize(dice)
    @dice = dice
  end

  # @return [String] frozen or not
  def any = copy(@dice.pick(@dice.weighted(TEXTS)))

  def copy(text) = @dice.one_in?(2) ? text.dup : -text

  # @return [Object] a value of a parameter, a field or a JSON member
  def scalar
    case @dice.weighted(SCALARS)
    when :text then any
    when :symbol then symbol
    when :integer then @dice.pick(INTEGERS)
    when :number then @dice.pick(NUMBERS)
    when :constant then @dice.pick([true, false, nil])
    else odd
    end
  end

  def symbol
    any.to_sym
  rescue EncodingError
    :broken
  end

  # @return [Object] a value of an unusual class
  def odd
    @dice.pick([Float::NAN, Float::INFINITY, Time.at(0).utc, Time.at(1.5).utc, 1..2, Struct.new(:a).new(1), Object.new,
                StringLike.new("like"), Class.new(String).new("subclass"), Encoding::UTF_8, [], {}, [1, nil], { a: 1 },
                BasicObject, Comparable, -> {}, ->(_) { 1 }, method(:freeze)])
  end
end
