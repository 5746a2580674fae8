# frozen_string_literal: true

require_relative "../test_helper"

# each_json must accept the same JSON as JSON.parse, at any division of the body.
class TestJSONSyntax < TrunklineTest
  # Makes a response return its body in these pieces, without a socket for each.
  module InPieces
    attr_writer :pieces, :content_type

    def content_type = @content_type || "application/json"
    def _each_json_chunk(&block) = @pieces.each(&block)
  end

  def setup
    @response = client(serve(response_bytes("")).url).get("/").extend(InPieces)
  end

  # @param pieces [Array<String>] the pieces of the body
  # @return [Array, nil] the values; nil when the body is not JSON
  def values(pieces, *path, **options)
    @response.pieces = pieces
    @response.each_json(*path, **options).to_a
  rescue Trunkline::DecodeError
    nil
  end

  # @return [Array, nil] the document, in an Array; nil when the text is not JSON
  def parsed(text)
    [JSON.parse(text)]
  rescue JSON::ParserError
    nil
  end

  def bytewise(text) = text.b.chars

  # ---- valid and invalid documents ----

  JSON_TEXTS = [
    "[]", "[ ]", "{}", "[\n\t\r ]", "[[[]]]", "[null]", "[true,false]", "[0]", "[-0]", "[-1]", "[10]", "[1.5]",
    "[0.1e1]", "[1E22]", "[1e+2]", "[1e-2]", "[0e0]", "[123456789012345678901234567890]", '[""]',
    '["\\u0061\\u00e9\\u3042"]', '["\\ud834\\udd1e"]', '["\\"\\\\\\/\\b\\f\\n\\r\\t"]', "[\"\u007F\"]",
    "[\"\u2028\u{10FFFF}\"]", '["\\u0000"]', '{"":0}', '{"a":{"b":[{"c":[]}]}}', '{"a":"b","c":"d"}', " [1] ",
    "{\"a\":\n[1,\n2]}", '["\\uDBFF\\uDFFE"]', "[1,1.0,\"1\",[1],{\"1\":1}]", "{\"long\":\"#{"x" * 100}\"}",
    '["\\u0012"]', '["/"]', "[#{"9" * 200}]"
  ].freeze

  NO_JSON = [
    "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1]]", "[1}", '{"a"', '{"a":', '{"a":1',
    '{"a":1,}', '{"a" 1}', '{"a",1}', "{a:1}", "{1:1}", '{"a":1 "b":2}', '{"a":1,,"b":2}', "{,}", "[:]", '["a"',
    '["a', '["', '["\\', '["\\u"]', '["\\u1"]', '["\\u12"]', '["\\u123"]', '["\\uzzzz"]', '["\\x41"]', "[\"\t\"]",
    "[\"\n\"]", "[\"\0\"]", "['a']", "[a]", "[tru]", "[trues]", "[True]", "[nul]", "[NaN]", "[Infinity]",
    "[-Infinity]", "[+1]", "[.1]", "[1.]", "[-]", "[--1]", "[-a]", "[01]", "[-01]", "[0x1]", "[1e]", "[1e+]",
    "[1ee1]", "[1.e1]", "[1.1.1]", "[1a]", "[0 1]", "[1_0]", "[\u00A01]", "[\f1]", "[1]x", "[1]//", "[//\n1]",
    "[1]\0", "[\u00E9]", "[\uFEFF1]", "[1,\uFF11]", "[\"a\"b]", "{}{}", "[][]", "[1]#", "<a>", '{"a":1}}', '{"a"::1}',
    "{:1}", '{"a":1,"b"}', "[{]}", '[{"a":1]}', "[\"\\ud800\"]", "[\"\\\u00e9\"]", "[\\u0061]"
  ].freeze

  def test_valid_json
    JSON_TEXTS.each do |text|
      expected = parsed(text)
      refute_nil expected, text
      [[text], bytewise(text)].each { |pieces| assert_equal expected, values(pieces, ""), text }
      assert_equal text.lstrip.start_with?("[") ? expected.first : expected, values(bytewise(text)), text
    end
  end

  def test_invalid_json
    NO_JSON.each do |text|
      assert_nil parsed(text), text unless text.include?("//") # the json gem once accepted these
      [[text], bytewise(text)].each do |pieces|
        assert_nil values(pieces, ""), text
        assert_nil values(pieces), text
        assert_nil values(pieces, "none"), text unless text.include?("\\ud800") # refused only by JSON.parse
      end
    end
  end

  # The engine parses consecutive numbers and literals together; this puts an invalid one at each position.
  def test_a_fault_in_a_row_of_numbers_and_literals
    row = ["1", "-20", "0", "3.25", "true", "false", "null", "-0.5", "6e7", "4", "5", "6"]
    assert_equal JSON.parse("[#{row.join(",")}]"), values(["[#{row.join(",")}]"])
    %w[01 - -01 1. .5 1.x truE nulll fals 1-2 0x1].each do |fault|
      (1...row.size).each do |at|
        pieces = ["[#{(row.take(at) + [fault] + row.drop(at)).join(",")}]"]
        assert_nil values(pieces), pieces.first
      end
    end
  end

  # JSON.parse decides whether an encoding is valid.
  def test_invalid_utf8
    ["[\"\xFF\"]", "[\"\xC3\"]", "[\"\xED\xA0\x80\"]", "{\"\xFF\":1}"].each do |text|
      assert_equal [parsed(text)], [values([text], "")], text.inspect
    end
  end

  # ---- random documents ----

  # Makes documents of names, numbers and strings with any content that JSON permits, with blanks between them.
  class Documents
    STRINGS = ["", "a", "items", "a.b", "*", "0", "ü", "日本", "\u{1D11E}", "\"", "\\", "\n", "\u0001", "x" * 40, "]",
               "{,:"].freeze
    NUMBERS = ["0", "-0", "7", "-12", "1.5", "-0.25", "1e3", "2E-2", "1.0e+2", "12345678901234567890"].freeze
    BLANKS = ["", "", "", " ", "\n", "\r\n", "\t "].freeze

    def initialize(seed)
      @random = Random.new(seed)
    end

    def text(depth = 4)
      kind = depth.zero? ? @random.rand(3) : @random.rand(7)
      blank + case kind
              when 0 then pick(NUMBERS)
              when 1 then string
              when 2 then pick(%w[true false null])
              when 3, 4 then "[#{list { text(depth - 1) }}]"
              else "{#{members(depth)}}"
              end + blank
    end

    def pick(from) = from.sample(random: @random)

    private

    def blank = pick(BLANKS)

    def list(&block) = @random.rand(5).zero? ? blank : Array.new(@random.rand(1..4), &block).join(",")

    # Names are unique, since JSON.parse may refuse duplicates.
    def members(depth)
      STRINGS.sample(@random.rand(4), random: @random)
        .map { |name| "#{blank}#{encode(name)}#{blank}:#{text(depth - 1)}" }.join(",")
    end

    def string = encode(pick(STRINGS))

    def encode(text)
      return JSON.generate(text) unless @random.rand(4).zero?

      "\"#{text.encode("UTF-16BE").unpack("n*").map { |unit| format("\\u%04x", unit) }.join}\""
    end
  end

  PATHS = [[], ["*"], ["items"], ["items", "*"], ["*", "*"], ["*", "items"], ["a.b", "0"], ["0"], ["0", "*", "a"],
           ["ü", "*"],
           ["*", "*", "*"], ["\u{1D11E}"], ["\n"], ["\""]].freeze

  # Returns the values at the path, from the whole document.
  def at(value, path)
    name, *rest = path
    return [value] unless name

    inside = case value
             when Array then value.each_index.select { |i| ["*", i.to_s].include?(name) }.map { |i| value[i] }
             when Hash then name == "*" ? value.values : value.slice(name).values
             else []
             end
    inside.flat_map { |one| at(one, rest) }
  end

  SEED = Integer(ENV.fetch("JSON_SEED", "18"))

  def test_random_documents
    documents = Documents.new(SEED)
    Integer(ENV.fetch("JSON_DOCUMENTS", "4000")).times do
      text = documents.text
      whole = JSON.parse(text)
      path = documents.pick(PATHS)
      divisions = [[text], bytewise(text), text.b.scan(/.{1,7}/mn)]
      divisions.each { |pieces| assert_equal at(whole, path), values(pieces, path), "#{text} at #{path}" }
    end
  end

  def test_random_documents_divided_at_every_byte
    documents = Documents.new(SEED + 1)
    Array.new(200) { documents.text }.select { |text| text.bytesize < 300 }.each do |text|
      expected = at(JSON.parse(text), ["*"])
      (1...text.bytesize).each do |cut|
        assert_equal expected, values([text.byteslice(0, cut), text.byteslice(cut..)], "*"), "#{text} after #{cut}"
      end
    end
  end

  FAULTS = ["", "\"", "\\", ",", "]", "}", "[", "{", "0", "-", ".", "e", "u", " ", "\n", "x"].freeze

  # One byte of a document is replaced or removed, or one is inserted: each_json and JSON.parse must agree whether the
  # result is JSON.
  def test_random_faults
    documents = Documents.new(SEED + 2)
    random = Random.new(SEED)
    Integer(ENV.fetch("JSON_DOCUMENTS", "4000")).times do
      text = documents.text(3).b
      position = random.rand(text.bytesize)
      text[position, random.rand(2)] = FAULTS.sample(random: random)
      text.force_encoding("UTF-8")
      next if text.empty? # there is no body

      expected = [parsed(text)]
      [[text], bytewise(text)].each { |pieces| assert_equal expected, [values(pieces, "")], text }
    end
  end

  # Values that each_json passes to JSON.parse, between values that it parses itself: the json gem decides their
  # meaning, and the order is kept.
  def test_values_that_the_json_gem_judges
    ['"\\ud800"', '{"a":1,"a":2}', '{"a":{"b":1,"b":2}}', "[\"\\udc00\"]"].each do |text|
      before = []
      @response.pieces = ["[1,\"a\",#{text},2]"]
      expected = parsed("[#{text}]")
      begin
        @response.each_json { |value| before << value }
        assert_equal [1, "a", *expected&.first, 2], before, text
      rescue Trunkline::DecodeError => error
        assert_nil expected, text
        assert_equal [1, "a"], before, text
        assert_match(/byte 8, line 1, at 2/, error.message)
      end
    end
  end

  def test_options_with_random_documents
    documents = Documents.new(SEED + 4)
    500.times do
      text = documents.text
      [{ symbolize_names: true }, { freeze: true }, { symbolize_names: true, freeze: true }].each do |options|
        expected = [JSON.parse(text, **options)]
        [[text], text.b.scan(/.{1,7}/mn)].each do |pieces|
          found = values(pieces, "", **options)
          assert_equal [expected, frozen?(expected.first)], [found, frozen?(found.first)], text
        end
      end
    end
  end

  # Returns whether every part of the value is frozen, and the encodings of Strings.
  def frozen?(value)
    case value
    when Array then [value.frozen?, value.map { |one| frozen?(one) }]
    when Hash then [value.frozen?, value.map { |name, one| [frozen?(name), frozen?(one)] }]
    when String then [value.frozen?, value.encoding]
    else value.frozen?
    end
  end

  # Each Float must have the same bits as JSON.parse's, also when the text is halfway between two Floats.
  def test_random_numbers
    random = Random.new(SEED)
    numbers = Array.new(20_000) do |i|
      case i % 5
      when 0 then random.bytes(8).unpack1("d").then { |float| float.finite? ? float.to_s : "0.0" }
      when 1 then "#{random.rand(10**19)}e#{random.rand(-30..30)}"
      when 2 then "-#{random.rand(10**9)}.#{random.rand(10**random.rand(1..18))}"
      when 3 then "#{((2**53) | (2 * random.rand(2**51)) | 1) << random.rand(8)}.0" # halfway between two Floats
      else random.rand(10**random.rand(1..30)).to_s
      end
    end
    text = "[#{numbers.join(",")}]"
    expected = JSON.parse(text).map { |number| bits(number) }
    [[text], text.scan(/.{1,1000}/m)].each { |pieces| assert_equal expected, values(pieces).map { |one| bits(one) } }
  end

  def bits(number) = number.is_a?(Float) ? [number].pack("G") : number

  def test_many_names_and_long_ones
    names = Array.new(2000) { |i| "#{"n" * (i % 90)}#{i}#{"é" if (i % 7).zero?}" }
    text = JSON.generate([names.to_h { |name| [name, name] }] * 2)
    assert_equal JSON.parse(text), values([text])
    assert_equal JSON.parse(text, symbolize_names: true), values(text.b.scan(/.{1,5000}/mn), symbolize_names: true)
  end

  def test_very_deep_nesting
    [99, 100, 101, 5000].each do |depth|
      text = "#{"[" * depth}1#{"]" * depth}"
      assert_equal (depth <= 100), !values([text], "").nil?, depth
      assert_equal [depth, 1], nesting(values([text], "", max_nesting: 0).first)
      assert_nil values(["[1,#{text}]"], max_nesting: 3), depth
    end
  end

  # Counts the levels in a loop, since Java's stack is too small to compare such values.
  def nesting(value)
    depth = 0
    depth += 1 while value.is_a?(Array) && (value = value.first)
    [depth, value]
  end

  def test_a_row_with_long_values
    row = [1, "x" * 50, [2, 3], "y" * 50]
    text = JSON.generate(row)
    assert_equal row, values([text], limit: 52)
    found = []
    @response.pieces = [text]
    error = assert_raises(Trunkline::BodyTooLarge) { @response.each_json(limit: 51) { |value| found << value } }
    assert_equal [1], found
    assert_match(/byte 4, line 1, at 1/, error.message)
  end

  def test_lines_in_a_row_are_counted
    @response.pieces = ["[1,\n[2,\n3],\n\n4,\n{\"a\":\n1},\nx]"]
    found = []
    error = assert_raises(Trunkline::DecodeError) { @response.each_json { |value| found << value } }
    assert_equal [1, [2, 3], 4, { "a" => 1 }], found
    assert_match(/line 8, at 4/, error.message)
  end

  def test_random_lines
    documents = Documents.new(SEED + 3)
    texts = Array.new(300) { documents.text.delete("\n") }
    expected = texts.map { |text| JSON.parse(text) }
    body = texts.join("\n")
    @response.content_type = "application/x-ndjson"
    [[body], bytewise(body), body.b.scan(/.{1,100}/mn)].each { |pieces| assert_equal expected, values(pieces) }
    @response.content_type = "application/json-seq"
    records = texts.map { |text| "\x1E#{text}\n" }.join
    [[records], bytewise(records)].each { |pieces| assert_equal expected, values(pieces) }
  end
end
