# frozen_string_literal: true

require "zlib"
require_relative "../support/websocket_cases"
require_relative "../support/websocket_peers"
require_relative "../test_helper"

# The Autobahn test suite's cases for clients, by their numbers.
class TestWebSocketCases < TrunklineTest
  include WebSocketPeers

  JRUBY = RUBY_ENGINE == "jruby"
  MOST_OCTETS = 1000 # largest case that is sent octet by octet
  TEXT = Array.new(2000) { |number| %({"id":#{number},"name":"user #{number * 7919 % 1000}"}\n) }.join

  # Cases 1 to 7: each is sent in one write, frame by frame, and octet by octet.
  def test_frames
    server, seen = playing(:peers)
    run_cases(client(server.url), seen, %i[whole frames octets])
  end

  def test_frames_over_http2
    skip "needs epoll" if ENV.key?("TRUNKLINE_POLL")
    server, seen = playing(:stream_peers)
    run_cases(client(server.url, http: :h2), seen, %i[whole octets])
  end

  # Cases 9.1, 9.2
  def test_large_messages
    %i[text binary].product([64, 1024, 4096]).each do |kind, kilobytes|
      message = ("*" * 1024 * kilobytes).b
      assert_echoed(kind, message) { |peer| peer.send_frame(kind, message) }
    end
  end

  # Cases 9.3, 9.4
  def test_large_messages_in_fragments
    { 64 => 1 << 18, 1024 => 1 << 20, 65_536 => 1 << 22 }.each do |size, whole|
      message = ("*" * whole).b
      assert_echoed(:binary, message) { |peer| peer.write(in_frames(:binary, message, size)) }
    end
  end

  # Cases 9.5, 9.6
  def test_large_messages_in_chops
    message = ("*" * (1 << 18)).b
    [64, 2048].each do |size|
      assert_echoed(:text, message) do |peer|
        WebSocketPeer.frame(:text, message).scan(/.{1,#{size}}/mn) { |chop| peer.write(chop) }
      end
    end
  end

  # Cases 9.7, 9.8
  def test_many_small_messages
    [0, 16, 64, 256, 1024, 4096].each do |size|
      message = ("*" * size).b
      server = peers do |peer|
        100.times { peer.send_frame(:text, message) && peer.read }
        peer.send_frame(:close, [1000].pack("S>"))
      end
      count = 0
      client(server.url).websocket { |socket| socket.each { |one| socket.write(one) && (count += 1) } }
      assert_equal 100, count, size
    end
  end

  # Case 10.1.1
  def test_a_message_in_frames_of_1300
    message = ("*" * 65_536).b
    assert_echoed(:text, message) { |peer| peer.write(in_frames(:text, message, 1300)) }
  end

  # Case 12: [bytes of a message, of a frame]
  def test_compressed_messages
    [[16, nil], [64, nil], [256, nil], [1024, nil], [8192, nil], [65_536, nil], [8192, 256], [65_536, 1024],
     [65_536, 32_768]].each do |size, fragment|
      assert_equal [true] * 10, compressed({}, size, fragment), [size, fragment].inspect
    end
  end

  # Case 13: parameters that the server requests
  def test_parameters_of_compression
    [{}, { server_no_context_takeover: true }, { server_max_window_bits: 9 }, { server_max_window_bits: 15 },
     { server_no_context_takeover: true, server_max_window_bits: 9 },
     { server_no_context_takeover: true, server_max_window_bits: 15 },
     { client_no_context_takeover: true, client_max_window_bits: 9 },
     { client_no_context_takeover: true, client_max_window_bits: 15, server_max_window_bits: 12 }].each do |parameters|
      next if JRUBY && parameters.key?(:client_max_window_bits) # JRuby does not offer it

      assert_equal [true] * 10, compressed(parameters, 8192, nil), parameters.inspect
    end
  end

  private

  # Pushes the block's value, or the error.
  def report(queue)
    queue << yield
  rescue StandardError => error
    queue << [[error.inspect], nil]
  end

  # ---- cases 1 to 7 ----

  # A server that runs the case named by the request's path, with the bytes divided as the path says; and a queue of its
  # results.
  def playing(kind)
    seen = Queue.new
    cases = WebSocketCases.all
    server = public_send(kind) do |peer|
      number, chop = peer.request.target.scan(/\w+/)
      report(seen) { play(peer, cases.fetch(number.to_i), chop.to_sym) }
    end
    [server, seen]
  end

  def run_cases(http, seen, chops)
    WebSocketCases.all.each_with_index do |one, number|
      chops.each do |chop|
        next if chop == :octets && bytes_of(one.frames) > MOST_OCTETS

        fault = echo(http.websocket("/#{number}/#{chop}"))
        replies, code = seen.pop
        assert_case(one, "#{one.name}, #{chop}", fault, replies, code)
      end
    end
  end

  def assert_case(one, name, fault, replies, code)
    if one.code.is_a?(Integer)
      assert_equal [Trunkline::InvalidResponse, one.code], [fault.class, code], name
      # The client may or may not have echoed earlier messages before it notices the violation.
      assert_equal one.replies.first(replies.size), replies, name
    else
      allowed = one.code ? [*one.code, 1000] : [1000]
      assert_nil fault, name
      assert_includes allowed, code, name
      assert_equal one.replies, replies, name
    end
  end

  # @return [Exception, nil] the error that the server's protocol violation raised
  def echo(socket)
    while (message = socket.read)
      begin
        socket.write(message)
      rescue Trunkline::ClosedError
        nil
      end
    end
  rescue Trunkline::InvalidResponse => error
    error
  end

  # @return [Array(Array, Integer)] the client's frames, and the code with which the client closed
  def play(peer, one, chop)
    replies = []
    one.frames.slice_when { |_, frame| frame == :pause }.each do |frames|
      replies << read_frame(peer) if frames.delete(:pause)
      send_in(chop, peer, frames)
    end
    if one.code.nil?
      replies << read_frame(peer) while replies.size < one.replies.size
      peer.send_frame(:close, [1000].pack("S>"))
    end
    replies << read_frame(peer) until replies.last&.first == :close
    [replies[0..-2], replies.last[1].unpack1("S>")]
  end

  def read_frame(peer) = peer.read.then { |frame| [frame.kind, frame.payload.b] }

  def send_in(chop, peer, frames)
    bytes = frames.map { |kind, payload, how| WebSocketPeer.frame(kind, payload, **(how || {})) }
    bytes = [bytes.join] if chop == :whole
    bytes = bytes.join.chars if chop == :octets
    bytes.each { |piece| peer.write(piece) }
  rescue IOError, SystemCallError
    nil # the client has closed already; its frames can still be read
  end

  def bytes_of(frames) = frames.sum { |_, payload, _| payload.to_s.bytesize + 6 }

  # ---- cases 9 and 10 ----

  def assert_echoed(kind, message)
    frame = nil
    server = peers do |peer|
      yield peer
      frame = peer.read
      peer.send_frame(:close, [1000].pack("S>"))
    end
    assert_nil echo(client(server.url, timeout: 20).websocket)
    eventually { frame }
    assert_equal [kind, true], [frame.kind, frame.payload == message], "#{message.bytesize} bytes"
  end

  def in_frames(kind, message, size)
    parts = message.scan(/.{1,#{size}}/mn)
    parts.each_with_index.map do |part, index|
      WebSocketPeer.frame(index.zero? ? kind : :continuation, part, last: index == parts.size - 1)
    end.join
  end

  # ---- cases 12 and 13 ----

  # Sends ten messages, each from a different part of the text.
  # @return [Array<Boolean>] for each, whether it was echoed, and compressed
  def compressed(parameters, size, fragment)
    accepted = ["permessage-deflate", *parameters.map { |name, value| value == true ? name : "#{name}=#{value}" }]
    results = Queue.new
    server = peers("Sec-WebSocket-Extensions" => accepted.join("; ")) do |peer|
      report(results) { Array.new(10) { |number| comes_back?(peer, TEXT[number * 100, size].b, parameters, fragment) } }
      peer.send_frame(:close, [1000].pack("S>"))
    end
    @deflater = @inflater = nil
    echo(client(server.url).websocket(compress: true))
    results.pop
  end

  def comes_back?(peer, message, parameters, fragment)
    parts = deflated(message, parameters).scan(/.{1,#{fragment || 65_536}}/mn)
    parts.each_with_index do |part, index|
      kind = index.zero? ? :text : :continuation
      peer.send_frame(kind, part, last: index == parts.size - 1, rsv: index.zero? ? 4 : 0)
    end
    frame = peer.read
    frame.compressed && inflated(frame.payload, parameters) == message
  end

  def deflated(message, parameters)
    @deflater = nil if parameters[:server_no_context_takeover]
    @deflater ||= Zlib::Deflate.new(Zlib::DEFAULT_COMPRESSION, -window(parameters, :server_max_window_bits))
    @deflater.deflate(message, Zlib::SYNC_FLUSH).delete_suffix("\x00\x00\xFF\xFF".b)
  end

  def inflated(bytes, parameters)
    @inflater = nil if parameters[:client_no_context_takeover]
    @inflater ||= Zlib::Inflate.new(-window(parameters, :client_max_window_bits))
    @inflater.inflate(bytes + "\x00\x00\xFF\xFF".b)
  end

  # JRuby supports no smaller window.
  def window(parameters, name) = JRUBY ? 15 : parameters.fetch(name, 15)
end
