# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/plain_event_stream"
require "event_stream_parser"

# Parses server-sent events from bytes, in any division. The C tests contain the cases of the specification.
class TestEventStreamParser < TrunklineTest
  EVERY_FIELD = "\uFEFFid: 1\r\nevent: a\r\nretry: 1500\r\ndata: one\r\ndata: zwei ü\r\n\r\n: ping\r\r\rdata\n\n" \
                "id: 2\0\ndata: three\ndata:\n\nid\ndata:  four\n\ndata: \xFFx\xE2\x82\n\ndata: not ended\n"
  PIECES = ["data", "data", ":", " ", "\n", "\r", "\r\n", "\n\n", "id", "event", "retry", "12", "x", "ü", "\0", "\xFF",
            "\uFEFF", "data: y\n"].map(&:b).freeze

  def parse(*chunks, parser: Trunkline::EventStreamParser.new)
    events = []
    chunks.each { |chunk| parser.feed(chunk) { |event| events << event } }
    events
  end

  def facts(events) = events.map { |event| [event.type, event.data, event.id, event.retry] }

  def plain(bytes)
    PlainEventStream.parse(bytes).map { |type, data, id, milliseconds| [type, data, id, milliseconds&.fdiv(1000)] }
  end

  def test_an_event
    event, = parse("event: delta\nid: 7\nretry: 1500\ndata: {}\n\n")
    assert_equal ["delta", "{}", "7", 1.5], [event.type, event.data, event.id, event.retry]
    assert_predicate event, :frozen?
    [event.type, event.data, event.id].each do |text|
      assert_predicate text, :frozen?
      assert_equal Encoding::UTF_8, text.encoding
    end
    same = Trunkline::ServerSentEvent.new(type: "delta", data: "{}", id: "7", retry: 1.5)
    assert_equal [same, same.hash], [event, event.hash]
    refute_equal same, Trunkline::ServerSentEvent.new(type: "delta", data: "{}", id: "7")
    assert_equal '#<Trunkline::ServerSentEvent delta, id: "7", retry: 1.5, 2 bytes>', event.inspect
    assert_equal same, Marshal.load(Marshal.dump(event))
    assert_raises(FrozenError) { event.instance_variable_set(:@data, "x") }
    event => { type: "delta", data: String => data }
    assert_equal "{}", data
  end

  def test_divided_at_every_byte
    expected = plain(EVERY_FIELD)
    assert_equal 5, expected.size
    assert_equal expected, facts(parse(EVERY_FIELD))
    assert_equal expected, facts(parse(*EVERY_FIELD.b.chars))
    (0..EVERY_FIELD.bytesize).each do |at|
      assert_equal expected, facts(parse(EVERY_FIELD.byteslice(0, at), EVERY_FIELD.byteslice(at..))), "at #{at}"
    end
  end

  def test_random_streams_are_parsed_as_specified
    random = Random.new(18)
    2000.times do
      stream = Array.new(random.rand(60)) { PIECES.sample(random: random) }.join
      chunks = stream.scan(/.{1,#{random.rand(1..12)}}/mn)
      assert_equal plain(stream), facts(parse(*chunks)), stream.inspect
    end
  end

  def test_the_gem_reads_the_same
    random = Random.new(6)
    300.times do
      stream = Array.new(20) do
        ["data: #{random.rand(9)}", "data:x", "event: e#{random.rand(3)}", ": c", "", ""].sample(random: random)
      end.join("\n").concat("\n")
      theirs = []
      EventStreamParser::Parser.new.feed(stream) { |type, data| theirs << [type.empty? ? "message" : type, data] }
      assert_equal(theirs, parse(stream).map { |event| [event.type, event.data] }, stream.inspect)
    end
  end

  # Each truncated sequence becomes one U+FFFD (as in the decoder of WHATWG Encoding).
  def test_bytes_that_are_no_utf8
    { "\xFF" => 1, "\xE2\x82" => 1, "\xF0\x9F\x98" => 1, "\xC0\x80" => 2, "\xE0\x80\x80" => 3, "\xED\xA0\x80" => 3,
      "\xF5\x80" => 2, "\xE2x" => 1, "\xF0\x9F\xFF" => 2, "\x80" => 1 }.each do |bytes, count|
      event, = parse("data: #{bytes}\nid: #{bytes}\nevent: #{bytes}\n\n".b)
      [event.data, event.id, event.type].each do |text|
        assert_predicate text, :valid_encoding?
        assert_equal count, text.count("\uFFFD"), bytes.inspect
      end
    end
  end

  def test_the_stream_itself
    parser = Trunkline::EventStreamParser.new(last_event_id: "a")
    assert_equal ["a", nil], [parser.last_event_id, parser.retry]
    assert_equal ["a"], parse("data: x\n\nid: b\n", parser: parser).map(&:id)
    assert_equal "a", parser.last_event_id, "its event has not ended"
    assert_empty parse("retry: 20\n\n", parser: parser)
    assert_equal ["b", 0.02], [parser.last_event_id, parser.retry]
  end

  # Seconds by digits: a long time is limited, and leading zeros do not count.
  def test_long_retries
    { "9" * 15 => 999_999_999_999.999, "1#{"0" * 15}" => 1.0e12, "9" * 16 => 1.0e12, "9" * 20 => 1.0e12,
      "9" * 100_000 => 1.0e12, "#{"0" * 100}20" => 0.02, "000" => 0.0 }.each do |digits, seconds|
      parser = Trunkline::EventStreamParser.new
      assert_equal [seconds] * 2, [parse("retry: #{digits}\ndata: x\n\n", parser: parser).first.retry, parser.retry]
    end
  end

  def test_a_break_in_the_block_loses_no_event
    parser = Trunkline::EventStreamParser.new
    parser.feed("data: 1\n\ndata: 2\n\ndata: 3") { |_| break }
    assert_equal %w[2 3], parse("\n\n", parser: parser).map(&:data)
  end

  def test_the_chunk_belongs_to_the_caller
    parser = Trunkline::EventStreamParser.new
    buffer = +""
    events = []
    ["data: #{"1" * 100}\n\ndata: #{"2" * 100}\n\ndata: ", "#{"3" * 100}\n\n"].each do |chunk|
      parser.feed(buffer.replace(chunk)) do |event|
        events << event.data[0]
        buffer.replace("x" * 1000)
      end
    end
    assert_equal %w[1 2 3], events
  end

  def test_within_its_block_a_parser_may_be_fed
    parser = Trunkline::EventStreamParser.new
    events = []
    parser.feed("data: 1\n\ndata: 2\n") do |event|
      events << event.data
      parser << "\ndata: 3\n\n" if event.data == "1"
    end
    assert_equal %w[1 2 3], events
  end

  def test_whatever_is_called
    parser = Trunkline::EventStreamParser.allocate
    assert_equal %w[x], parse("data: x\n\n", parser: parser).map(&:data)
    events = []
    parser.feed("data: 1\n\ndata: 2\n\n") do |event|
      events << event.data
      parser.send(:initialize, limit: nil)
      GC.start
    end
    assert_equal [%w[1], nil], [events, parser.next_event]
    assert_raises(TypeError) { Trunkline::EventStreamParser.new.dup.send(:_begin, "x", nil) }
    [-1, 2**60].each { |limit| parser.send(:_begin, limit, "x") }
    assert_equal "x", parser.last_event_id
  end

  def test_limits
    assert_equal 1, parse("data: 7890\n\n", parser: Trunkline::EventStreamParser.new(limit: 10)).size
    parser = Trunkline::EventStreamParser.new(limit: 10)
    2.times do
      error = assert_raises(Trunkline::EventTooLarge) { parse("data: 78901", parser: parser) }
      assert_includes error.message, "limit: 10 bytes"
    end
    assert_equal 1_000_000, parse("data: ", "x" * 1_000_000, "\n\n").first.data.bytesize
    [0, -1, "5", 1.5].each do |limit|
      assert_raises(Trunkline::InvalidRequest) { Trunkline::EventStreamParser.new(limit: limit) }
    end
    assert_raises(Trunkline::InvalidRequest) { Trunkline::EventStreamParser.new(last_event_id: 5) }
    assert_raises(TypeError) { Trunkline::EventStreamParser.new << nil }
  end
end
