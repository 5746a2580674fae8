# frozen_string_literal: true

require_relative "websocket_peer"

# A WebSocketPeer on a FrameStream (RFC 8441).
class WebSocketStreamPeer < WebSocketPeer
  # The connection of a peer, which reads from and writes to the stream.
  class Bytes
    def initialize(stream)
      @stream = stream
      @buffer = "".b
    end

    def read_exactly(count)
      @buffer << (@stream.read or raise EOFError, "the client left") until @buffer.bytesize >= count
      @buffer.slice!(0, count)
    end

    def <<(bytes)
      @stream.data(bytes)
      self
    end
  end

  attr_reader :stream

  def initialize(stream)
    @stream = stream
    super(Bytes.new(stream), stream.request)
  end

  def accept(behind: "", **fields)
    stream.headers(200, **fields.compact)
    stream.data(behind) unless behind.empty?
    self
  end

  def echo
    super
    stream.data("", end_stream: true)
  end
end
