# frozen_string_literal: true

require_relative "../../support/memory"
require_relative "../../support/unit_test"
require "trunkline/websocket/framing"

# Frames of RFC 6455 5 and RFC 7692, each passed as a whole, byte by byte, and in two pieces divided at every byte.
class TestWebSocketFraming < UnitTest
  LIMIT = 70_000
  OFFER = ["permessage-deflate", *("client_max_window_bits" unless RUBY_ENGINE == "jruby")].join("; ").freeze
  OPCODES = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 }.freeze

  def self.frame(kind, payload = "", fin: true, rsv: 0)
    payload = payload.b
    first = (fin ? 0x80 : 0) | (rsv << 4) | (kind.is_a?(Integer) ? kind : OPCODES.fetch(kind))
    length = payload.bytesize
    head = if length < 126 then [first, length].pack("CC")
           elsif length < 65_536 then [first, 126, length].pack("CCS>")
           else [first, 127, length].pack("CCQ>")
           end
    head + payload
  end

  def self.closing(code, reason = "") = frame(:close, [code].pack("S>") + reason.b)

  # name => [received bytes, messages, frames sent in response, received close code]
  TAKEN = {
    "text" => [frame(:text, "hé"), ["hé"], []],
    "an empty text" => [frame(:text), [""], []],
    "binary" => [frame(:binary, "\xFF"), ["\xFF".b], []],
    "lengths of 16 bits" => [frame(:binary, "a" * 126) + frame(:binary, "b" * 65_535), ["a" * 126, "b" * 65_535], []],
    "a length of 64 bits" => [frame(:binary, "a" * 65_536), ["a" * 65_536], []],
    "fragments, and a ping between them" => [frame(:text, "h\xC3", fin: false) + frame(:ping, "p") +
      frame(:more, "\xA9", fin: false) + frame(:more), ["hé"], [[10, "p"]]],
    "an unsolicited pong" => [frame(:pong, "x") + frame(:text, "a"), ["a"], []],
    "pings in their order" => [frame(:ping, "1") + frame(:ping, "2" * 125), [], [[10, "1"], [10, "2" * 125]]],
    "a close" => [closing(1000, "bye"), [], [[8, "\x03\xE8bye"]], 1000],
    "a close of the application's" => [closing(4999), [], [[8, "\x13\x87"]], 4999],
    "a close without a code" => [frame(:close), [], [[8, "\x03\xE8"]]],
    "what comes behind a close" => [closing(1001) + frame(:text, "a") + frame(:ping), [], [[8, "\x03\xE9"]], 1001]
  }.freeze

  # name => [received bytes, sent close code]
  REFUSED = {
    "a reserved bit" => [frame(:text, "a", rsv: 4), 1002],
    "a reserved bit of a ping" => [frame(:ping, "a", rsv: 1), 1002],
    "an unknown opcode" => [frame(3), 1002],
    "an unknown control opcode" => [frame(11), 1002],
    "a control frame in fragments" => [frame(:ping, "a", fin: false), 1002],
    "a control frame that is too long" => [frame(:ping, "a" * 126), 1002],
    "a masked frame" => ["\x81\x81abcd\x00".b, 1002],
    "a continuation of nothing" => [frame(:more, "a"), 1002],
    "a new message within another" => [frame(:text, "a", fin: false) + frame(:text, "b"), 1002],
    "text that is no UTF-8" => [frame(:text, "\xFF"), 1007],
    "text that ends within a character" => [frame(:text, "h\xC3", fin: false) + frame(:more), 1007],
    "a surrogate" => [frame(:text, "\xED\xA0\x80"), 1007],
    "a message that is too large" => [frame(:binary, "a" * (LIMIT + 1)), 1009],
    "fragments that are too large" => [frame(:binary, "a" * LIMIT, fin: false) + frame(:more, "a"), 1009],
    "a length that is announced alone" => ["\x82\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF".b, 1009],
    "a close of one byte" => [frame(:close, "a"), 1002],
    "a close whose reason is no UTF-8" => [closing(1000, "\xFF"), 1007],
    **[0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535].to_h do |code|
      ["a close with #{code}", [closing(code), 1002]]
    end
  }.freeze

  def framing(**options) = Trunkline::WebSocket::Framing.new(max_message_bytes: LIMIT, **options)

  # Large frames are divided at few places: only their ends matter.
  def ways(bytes)
    size = bytes.bytesize
    cuts = size > 300 ? [1, 2, 3, 9, 10, 11, size - 1] : (1...size).to_a
    ways = cuts.map { |at| [bytes.byteslice(0, at), bytes.byteslice(at..)] }
    size > 300 ? [[bytes], *ways] : [[bytes], bytes.bytes.map { |byte| byte.chr.b }, *ways]
  end

  # @return [Array<[Integer, String, Boolean]>] opcode, payload, and whether the first reserved bit is set
  def sent_frames(bytes)
    frames = []
    until bytes.empty?
      first, length = bytes.unpack("CC")
      assert_operator length, :>=, 128, "a client's frame is masked"
      length -= 128
      start = 2
      (length = bytes.unpack1("S>", offset: 2)) && start = 4 if length == 126
      (length = bytes.unpack1("Q>", offset: 2)) && start = 10 if length == 127
      mask = bytes.byteslice(start, 4).bytes
      payload = bytes.byteslice(start + 4, length).bytes.each_with_index.map { |byte, at| byte ^ mask[at % 4] }
      frames << [first & 15, payload.pack("C*"), first.anybits?(64)]
      bytes = bytes.byteslice((start + 4 + length)..)
    end
    frames
  end

  def all_messages(socket)
    messages = []
    while (message = socket.read)
      messages << message
    end
    messages
  end

  TAKEN.each do |name, (bytes, messages, sent, code)|
    define_method(:"test_#{name.tr(" ,'", "_")}") do
      ways(bytes).each do |pieces|
        socket = framing
        socket.begin
        pieces.each { |piece| socket << piece }
        assert_equal messages, all_messages(socket)
        assert_equal(sent.map { |opcode, payload| [opcode, payload.b, false] }, sent_frames(socket.take_output))
        assert_nil socket.fault
        code ? assert_equal(code, socket.close_code) : assert_nil(socket.close_code)
      end
    end
  end

  REFUSED.each do |name, (bytes, code)|
    define_method(:"test_refused_#{name.tr(" ,'", "_")}") do
      ways(bytes).each do |pieces|
        socket = framing
        socket.begin
        pieces.each { |piece| socket << piece }
        assert_empty all_messages(socket)
        opcode, payload = sent_frames(socket.take_output).last
        assert_equal [8, code], [opcode, payload.unpack1("S>")]
        assert_predicate socket, :closed?
        refute_nil socket.fault
        assert_nil socket.close_code
        refute socket.write("a")
      end
    end
  end

  def test_encodings_of_messages
    socket = framing
    socket.begin
    socket << self.class.frame(:text, "é") << self.class.frame(:binary, "é")
    assert_equal [Encoding::UTF_8, Encoding::BINARY], all_messages(socket).map(&:encoding)
  end

  def test_frames_sent_by_the_client
    socket = framing
    socket.begin
    socket.write("é".encode(Encoding::ISO_8859_1))
    socket.write("\xFF".b)
    socket.write("a" * 65_536)
    socket.ping("p")
    assert socket.close(4000, "over")
    refute socket.close
    frames = sent_frames(socket.take_output)
    assert_equal [[1, "é".b], [2, "\xFF".b], [1, "a" * 65_536], [9, "p"], [8, "\x0F\xA0over".b]],
                 frames.map { |frame| frame.first(2) }
    assert_empty socket.take_output
  end

  def test_the_close_frame_of_the_server
    socket = framing
    socket.begin
    socket.close
    refute_predicate socket, :closed?
    socket << self.class.frame(:text, "late") << self.class.closing(1000)
    assert_equal ["late", 1000, true], [socket.read, socket.close_code, socket.closed?]
  end

  def test_wrong_arguments
    socket = framing
    socket.begin
    assert_refused("UTF-8") { socket.write("\xFF") }
    assert_refused("ping", "125") { socket.ping("a" * 126) }
    assert_refused("reason", "123") { socket.close(1000, "a" * 124) }
    [999, 1004, 1005, 1006, 1015, 2000, 5000].each { |code| assert_refused("code", code.to_s) { socket.close(code) } }
    assert_empty socket.take_output
  end

  def test_masks_differ
    socket = framing
    socket.begin
    masks = Array.new(20) do
      socket.write("a")
      socket.take_output.byteslice(2, 4)
    end
    assert_operator masks.uniq.size, :>, 15
  end

  # ---- permessage-deflate ----

  EXTENSION = "permessage-deflate"
  TAIL = "\x00\x00\xFF\xFF".b

  # The examples of RFC 7692 7.2.3
  EXAMPLES = {
    "one block" => [["f248cdc9c90700"], ["Hello"]],
    "two fragments" => [%w[f248cd c9c90700], ["Hello"]],
    "no compression" => [["000500faff48656c6c6f00"], ["Hello"]],
    "a last block" => [["f348cdc9c9070000"], ["Hello"]],
    "two blocks" => [["f24805000000ffffcac9c90700"], ["Hello"]]
  }.freeze

  EXAMPLES.each do |name, (fragments, messages)|
    define_method(:"test_the_example_of_#{name.tr(" ", "_")}") do
      socket = framing(compress: true)
      socket.offer
      socket.begin(EXTENSION)
      last = fragments.size - 1
      2.times do
        fragments.each_with_index do |hex, at|
          socket << self.class.frame(at.zero? ? :text : :more, [hex].pack("H*"), fin: at == last, rsv: at.zero? ? 4 : 0)
        end
      end
      assert_equal messages * 2, all_messages(socket)
      assert_nil socket.fault
    end
  end

  def test_messages_are_compressed
    extensions = ["", "; client_no_context_takeover", "; server_no_context_takeover", "; client_max_window_bits=9"]
    extensions.pop if RUBY_ENGINE == "jruby" # JRuby has no smaller windows
    extensions.each do |wanted|
      socket = framing(compress: true)
      assert_equal OFFER, socket.offer
      socket.begin(EXTENSION + wanted)
      2.times { socket.write("hello " * 100) }
      inflater = Zlib::Inflate.new(-15)
      frames = sent_frames(socket.take_output)
      assert_equal [true, true], frames.map(&:last), wanted
      frames.each { |_, bytes, _| assert_equal "hello " * 100, inflater.inflate(bytes + TAIL), wanted }
      assert_equal wanted.include?("client_no"), frames[0][1] == frames[1][1], wanted
    end
  end

  def test_compressed_messages_come
    deflater = Zlib::Deflate.new(Zlib::DEFAULT_COMPRESSION, -15)
    packed = Array.new(2) { deflater.deflate("hé" * 500, Zlib::SYNC_FLUSH).byteslice(0...-4) }
    socket = framing(compress: true)
    socket.offer
    socket.begin(EXTENSION)
    socket << self.class.frame(:text, packed[0], rsv: 4) << self.class.frame(:text, "plain")
    socket << self.class.frame(:text, packed[1][0, 3], fin: false, rsv: 4) << self.class.frame(:more, packed[1][3..])
    assert_equal ["hé" * 500, "plain", "hé" * 500], all_messages(socket)
  end

  def test_a_compression_bomb_is_not_inflated_completely
    bomb = Zlib::Deflate.new(Zlib::DEFAULT_COMPRESSION, -15).deflate("\0" * 60_000_000, Zlib::SYNC_FLUSH)
    socket = framing(compress: true)
    socket.offer
    socket.begin(EXTENSION)
    allocated = Memory.allocated_bytes { socket << self.class.frame(:binary, bomb[0...-4], rsv: 4) }
    # JRuby copies a piece of 1 MB as it grows.
    assert_operator allocated, :<, RUBY_ENGINE == "jruby" ? 10_000_000 : 5_000_000
    assert_nil socket.read
    assert_equal 1009, sent_frames(socket.take_output).last[1].unpack1("S>")
  end

  def test_compressed_bytes_that_are_none
    socket = framing(compress: true)
    socket.offer
    socket.begin(EXTENSION)
    socket << self.class.frame(:binary, "\xFF\xFF\xFF", rsv: 4)
    assert_equal 1010, sent_frames(socket.take_output).last[1].unpack1("S>")
    refute_nil socket.fault
  end

  def test_extensions_that_were_not_offered
    ["unknown", "#{EXTENSION}; x=1", "#{EXTENSION}; client_max_window_bits=7", "#{EXTENSION}, #{EXTENSION}",
     "#{EXTENSION}; server_max_window_bits", "#{EXTENSION}; =", "#{EXTENSION}; server_no_context_takeover=1"]
      .each do |field|
      socket = framing(compress: true)
      socket.offer
      assert_raises(ArgumentError, field) { socket.begin(field) }
    end
    assert_nil framing.offer
    assert_raises(ArgumentError) { framing.begin(EXTENSION) }
  end
end
