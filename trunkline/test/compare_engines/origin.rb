# frozen_string_literal: true

require "socket"
require_relative "coded_cases"
require_relative "http2_cases"

# Serves the cases: the path of a request is the number of its case; "/whole" after it asks for all bytes at once. A
# client that waits for more than the case's bytes gets the end of the connection.
class EnginesOrigin
  # Seconds for which a client may act after all bytes were written.
  PATIENCE = 0.1

  # @return [Cases::Case]
  def self.case_of(seed, number)
    kind = [HTTP2Cases, CodedCases].find { |one| one.number?(number) } || Cases
    kind.make(seed, number)
  end

  attr_reader :port

  def initialize(seed)
    @seed = seed
    @listener = TCPServer.new("127.0.0.1", 0)
    @listener.listen(1024)
    @port = @listener.addr[1]
    @thread = Thread.new { accept }
  end

  def stop
    @thread.kill
    @listener.close
  end

  private

  def accept
    loop do
      socket = @listener.accept
      Thread.new { serve(socket) }.report_on_exception = false
    end
  end

  def serve(socket)
    socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    path = read_request(socket) or return
    number = path[/\d+/].to_i
    one = EnginesOrigin.case_of(@seed, number)
    write(socket, path.end_with?("/whole") ? [one.bytes] : one.pieces)
    return drain(socket) if HTTP2Cases.number?(number)
    return if socket.wait_readable(PATIENCE)

    socket.close_write
    socket.wait_readable(5)
  rescue SystemCallError, IOError
    nil # the client has closed the connection
  ensure
    socket.close
  end

  # An HTTP/2 client sends more than its request. Closing with unread data would reset the connection.
  def drain(socket)
    socket.readpartial(65_536) while socket.wait_readable(PATIENCE)
    socket.close_write
    socket.readpartial(65_536) while socket.wait_readable(5)
  end

  # @return [String, nil] the path
  def read_request(socket)
    line = socket.gets or return
    return read_stream(socket) if line.start_with?("PRI ")

    length = 0
    while (field = socket.gets) && field != "\r\n"
      length = field[/\Acontent-length: (\d+)/i, 1].to_i if field.match?(/\Acontent-length:/i)
    end
    socket.read(length) if length.positive?
    line[/ (\S+)/, 1]
  end

  # @return [String, nil] the path of a request over HTTP/2
  def read_stream(socket)
    socket.read("\r\nSM\r\n\r\n".bytesize)
    while (head = socket.read(Frame::HEAD_BYTES))
      length, frame = Frame.parse_head(head)
      frame.payload = socket.read(length)
      return path_of(frame) if frame.type == :headers
    end
  end

  def path_of(frame)
    fields = Protocol::HPACK::Decompressor.new(frame.content, Protocol::HPACK::Context.new).decode
    fields.assoc(":path").last
  end

  def write(socket, pieces)
    pieces.each do |piece|
      socket.write(piece)
      Thread.pass
    end
  end
end
