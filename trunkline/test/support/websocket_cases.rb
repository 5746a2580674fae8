# frozen_string_literal: true

require_relative "websocket_peer"

# The Autobahn test suite's cases for clients, by their numbers, as frames for WebSocketPeer: the frames that a server
# sends to a client that echoes each message, and those that it must receive. Cases 9 (limits), 10, 12 and 13 are in
# test_websocket_cases.rb.
module WebSocketCases
  # frames: [kind or opcode, payload, { last:, rsv: }]; at :pause the server waits for one echo.
  # replies: [kind, payload] of each echo.
  # code: with which the client closes after a protocol violation; or [code] with which it responds to the server's
  # close; nil: the server closes after all echoes.
  Case = Struct.new(:name, :frames, :replies, :code)

  HELLO = "Hello, world!"
  BYTES = "\x00\xFF\xFE\xFD\xFC\xFB\x00\xFF".b
  PROTOCOL_ERROR = 1002
  NO_TEXT = 1007

  module_function

  def all
    [*echoes, *pings, *reserved_bits, *reserved_opcodes, *fragments, *texts, *closes]
  end

  def fine(name, frames, replies) = Case.new(name, frames, replies, nil)
  def refused(name, frames, replies = [], code: PROTOCOL_ERROR) = Case.new(name, frames, replies, code)

  # Case 1
  def echoes
    { 1 => [:text, "*"], 2 => [:binary, "\xFE".b] }.flat_map do |group, (kind, byte)|
      [0, 125, 126, 127, 128, 65_535, 65_536].each_with_index.map do |size, index|
        fine("1.#{group}.#{index + 1}", [[kind, byte * size]], [[kind, byte * size]])
      end
    end
  end

  # Case 2
  def pings
    many = Array.new(10) { |number| "payload-#{number}" }
    [fine("2.1", [[:ping, ""]], [[:pong, ""]]),
     fine("2.2", [[:ping, HELLO]], [[:pong, HELLO]]),
     fine("2.3", [[:ping, BYTES]], [[:pong, BYTES]]),
     fine("2.4", [[:ping, "\xFE".b * 125]], [[:pong, "\xFE".b * 125]]),
     refused("2.5", [[:ping, "\xFE".b * 126]]),
     fine("2.7", [[:pong, ""]], []),
     fine("2.8", [[:pong, "unasked"]], []),
     fine("2.9", [[:pong, "unasked"], [:ping, "asked"]], [[:pong, "asked"]]),
     fine("2.10", many.map { |one| [:ping, one] }, many.map { |one| [:pong, one] })]
  end

  # Case 3: bits that have no meaning without an extension
  def reserved_bits
    after = ->(frame) { [[:text, HELLO], frame, [:ping, ""]] }
    [refused("3.1", [[:text, HELLO, { rsv: 1 }]]),
     *[2, 3, 4].map { |bits| refused("3.#{bits}", after.call([:text, HELLO, { rsv: bits }]), [[:text, HELLO]]) },
     refused("3.5", [[:binary, BYTES, { rsv: 5 }]]),
     refused("3.6", [[:ping, HELLO, { rsv: 6 }]]),
     refused("3.7", [[:close, "", { rsv: 7 }]])]
  end

  # Case 4
  def reserved_opcodes
    { 1 => 3..7, 2 => 11..15 }.flat_map do |group, opcodes|
      opcodes.each_with_index.map do |opcode, index|
        frame = [opcode, index.odd? ? "of a reserved opcode" : ""]
        next refused("4.#{group}.#{index + 1}", [frame]) if index < 2

        refused("4.#{group}.#{index + 1}", [[:text, HELLO], frame, [:ping, ""]], [[:text, HELLO]])
      end
    end
  end

  # Case 5
  def fragments
    two = [[:text, "one ", { last: false }], [:continuation, "two"]]
    stray = ->(last) { [[:continuation, "nothing to continue", { last: last }], [:text, HELLO]] }
    pinged = [two[0], [:ping, "between"], two[1]]
    [refused("5.1", [[:ping, "one", { last: false }], [:continuation, "two"]]),
     refused("5.2", [[:pong, "one", { last: false }], [:continuation, "two"]]),
     fine("5.3 to 5.5", two, [[:text, "one two"]]),
     fine("5.6 to 5.8", pinged, [[:pong, "between"], [:text, "one two"]]),
     refused("5.9 to 5.11", stray.call(true)),
     refused("5.12 to 5.14", stray.call(false)),
     refused("5.15", [*two, [:continuation, "three", { last: false }], [:text, "four"]], [[:text, "one two"]]),
     refused("5.16", [[:continuation, "none", { last: false }], *two] * 2),
     refused("5.17", [[:continuation, "none"], *two] * 2),
     refused("5.18", [[:text, "one", { last: false }], [:text, "two"]]),
     fine("5.19 and 5.20", [two[0], [:continuation, "more ", { last: false }], [:ping, "first"], :pause,
                            [:continuation, "and ", { last: false }], [:ping, "second"], two[1]],
          [[:pong, "first"], [:pong, "second"], [:text, "one more and two"]])]
  end

  # Case 6
  def texts
    greek = "\u03BA\u1F79\u03C3\u03BC\u03B5"
    special = "Hello-\u00B5@\u00DF\u00F6\u00E4\u00FC\u00E0\u00E1-UTF-8!!"
    broken = greek.b + "\xED\xA0\x80edited".b
    beyond = [greek.b, "\xF4\x90\x80\x80".b, "edited"]
    [fine("6.1.1", [[:text, ""]], [[:text, ""]]),
     fine("6.1.2", pieces(["", "", ""]), [[:text, ""]]),
     fine("6.1.3", pieces(["", "middle", ""]), [[:text, "middle"]]),
     fine("6.2.1", [[:text, special]], [[:text, special.b]]),
     fine("6.2.2", pieces([special[0, 12], special[12..]]), [[:text, special.b]]),
     fine("6.2.3", pieces(special.b.chars), [[:text, special.b]]),
     fine("6.2.4", pieces(greek.b.chars), [[:text, greek.b]]),
     refused("6.3.1", [[:text, broken]], code: NO_TEXT),
     refused("6.3.2", pieces(broken.chars), code: NO_TEXT),
     refused("6.4.1", pieces(beyond), code: NO_TEXT),
     refused("6.4.2", pieces([greek.b + "\xF4".b, "\x90".b, "\x80\x80edited".b]), code: NO_TEXT),
     *octets]
  end

  # Cases 6.5 to 6.23: valid and invalid UTF-8 (RFC 3629)
  VALID = ["hello$world", "hello\u00A2world", "hello\u20ACworld", "hello\u{24B62}world", "\u0000", "\u0080", "\u0800",
           "\u{10000}", "\u007F", "\u07FF", "\uFFFF", "\u{10FFFF}", "\uD7FF", "\uE000", "\uFFFD", "\uFFFE",
           *(1..16).flat_map { |plane| [(plane << 16) + 0xFFFE, (plane << 16) + 0xFFFF].map { |one| [one].pack("U") } }]
    .map(&:b).freeze
  # Overlong forms, codes above U+10FFFF, surrogates, continuation bytes alone, and truncated sequences.
  INVALID = ["\xF8\x88\x80\x80\x80", "\xFC\x84\x80\x80\x80\x80", "\xF7\xBF\xBF\xBF", "\xFB\xBF\xBF\xBF\xBF",
             "\xFD\xBF\xBF\xBF\xBF\xBF", "\xF4\x90\x80\x80", "\x80", "\xBF", "\x80\xBF", "\x80\xBF\x80",
             "\xFE", "\xFF", "\xFE\xFE\xFF\xFF", "\xC0\xAF", "\xE0\x80\xAF", "\xF0\x80\x80\xAF", "\xF8\x80\x80\x80\xAF",
             "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xC0\x80", "\xE0\x80\x80", "\xF0\x80\x80\x80",
             "\xED\xA0\x80", "\xED\xAD\xBF", "\xED\xAE\x80", "\xED\xAF\xBF", "\xED\xB0\x80", "\xED\xBF\xBF",
             "\xED\xA0\x80\xED\xB0\x80", "\xED\xAF\xBF\xED\xBF\xBF", (0x80..0xBF).map(&:chr).join,
             *(0xC0..0xFD).map { |first| "#{first.chr} ".b }, # first bytes without a continuation
             "\xC3", "\xE1\xBD", "\xE1", "\xF0\x90\x80", "\xCE\xBA\xE1\xBD"].map(&:b).freeze

  def octets
    VALID.map { |bytes| fine("6.5 to 6.23 #{bytes.inspect}", [[:text, bytes]], [[:text, bytes]]) } +
      INVALID.map { |bytes| refused("6.5 to 6.23 #{bytes.inspect}", [[:text, bytes]], code: NO_TEXT) }
  end

  # A message in several frames.
  def pieces(parts)
    parts.each_with_index.map do |part, index|
      [index.zero? ? :text : :continuation, part, { last: index == parts.size - 1 }]
    end
  end

  # Case 7
  def closes
    normal = [:close, [1000].pack("S>")]
    [fine("7.1.1", [[:text, HELLO]], [[:text, HELLO]]),
     *[[:close, ""], [:ping, ""], [:text, HELLO]].each_with_index.map do |more, at|
       ended("7.1.#{at + 2}", normal, more)
     end,
     ended("7.1.5", [:text, "one", { last: false }], normal, [:continuation, "two"], code: 1000),
     ended("7.3.1", [:close, ""], code: nil),
     refused("7.3.2", [[:close, "a"]]),
     ended("7.3.3", normal),
     ended("7.3.4", [:close, [1000].pack("S>") + HELLO]),
     ended("7.3.5", [:close, [1000].pack("S>") + ("*" * 123)]),
     refused("7.3.6", [[:close, [1000].pack("S>") + ("*" * 124)]]),
     refused("7.5.1", [[:close, [1000].pack("S>") + "\xED\xA0\x80".b]], code: NO_TEXT),
     *codes]
  end

  def codes
    allowed = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999]
    forbidden = [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65_535] # the last two: case 7.13
    allowed.map { |code| ended("7.7 #{code}", [:close, [code].pack("S>")], code: code) } +
      forbidden.map { |code| refused("7.9 #{code}", [[:close, [code].pack("S>")]]) }
  end

  # The server closes, and continues to send; the client responds to the close with its code, and sends nothing else.
  def ended(name, *frames, code: 1000) = Case.new(name, frames, [], [code])
end
