# frozen_string_literal: true

require "digest"

# The server's side of a WebSocket, frame by frame, on a ScriptedConnection.
class WebSocketPeer
  GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
  OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 }.freeze

  # compressed: the bit RSV1
  Frame = Struct.new(:kind, :payload, :last, :compressed)

  attr_reader :request

  def initialize(connection, request = connection.read_request)
    @connection = connection
    @request = request
  end

  # @param behind [String] bytes that are sent together with the response's head
  def accept(behind: "", accept: nil, **fields)
    accept ||= Digest::SHA1.base64digest(request["sec-websocket-key"] + GUID)
    lines = { "Upgrade" => "websocket", "Connection" => "Upgrade", "Sec-WebSocket-Accept" => accept, **fields }
    text = lines.compact.map { |name, value| "#{name}: #{value}\r\n" }.join
    @connection << ("HTTP/1.1 101 Switching Protocols\r\n#{text}\r\n".b + behind)
    self
  end

  # @param kind [Symbol, Integer] a key of OPCODES, or an opcode
  # @param rsv [Integer] the three reserved bits after the first bit
  def self.frame(kind, payload = "", last: true, rsv: 0)
    bytes = payload.b
    size = bytes.bytesize
    length = size < 126 ? [size].pack("C") : size < 65_536 ? [126, size].pack("CS>") : [127, size].pack("CQ>") # rubocop:disable Style/NestedTernaryOperator -- the three forms
    [(last ? 0x80 : 0) | (rsv << 4) | OPCODES.fetch(kind, kind)].pack("C") + length + bytes
  end

  def send_frame(kind, payload = "", **options) = @connection << WebSocketPeer.frame(kind, payload, **options)

  # @return [Frame] with the unmasked payload
  def read
    first, second = @connection.read_exactly(2).bytes
    raise "a frame of a client must be masked" if second < 128

    length = length_of(second & 127)
    mask = @connection.read_exactly(4).unpack1("N")
    Frame.new(OPCODES.key(first & 15), unmasked(@connection.read_exactly(length), mask), first >= 128, first[6] == 1)
  end

  def write(bytes) = @connection << bytes

  # Echoes each message, responds to pings with pongs, and to a close with a close.
  def echo
    loop do
      frame = read
      case frame.kind
      when :ping then send_frame(:pong, frame.payload)
      when :close then return send_frame(:close, frame.payload)
      when :text, :binary then send_frame(frame.kind, frame.payload)
      end
    end
  end

  private

  def length_of(short)
    case short
    when 126 then @connection.read_exactly(2).unpack1("S>")
    when 127 then @connection.read_exactly(8).unpack1("Q>")
    else short
    end
  end

  # Unmasks four bytes at a time.
  def unmasked(bytes, mask)
    words = (bytes + ("\0" * (-bytes.bytesize % 4))).unpack("N*").map { |word| word ^ mask }
    words.pack("N*").byteslice(0, bytes.bytesize)
  end
end
