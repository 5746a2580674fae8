# frozen_string_literal: true

require "socket"
require "openssl"

# The server's end of one connection, for scripts: read a request, write bytes, drip, sleep, close, reset. `ended` is
# how the client closed: nil if it has not, :eof, :reset, :tls_close.
class ScriptedConnection
  Request = Struct.new(:raw, :verb, :target, :headers, :body) do
    def [](name) = headers.find { |field, _| field.casecmp?(name) }&.last
  end

  BLOCK = 16 * 1024

  attr_reader :socket, :number, :requests, :ended, :bytes_read

  def initialize(socket, number, on_request)
    @socket = socket
    @number = number
    @on_request = on_request
    @requests = []
    @buffer = "".b
    @bytes_read = 0
  end

  # Reads one whole request, including its body; returns nil at the end of the connection.
  # @yield [String] the head, before the body is read: for an interim response
  def read_request
    head = read_head or return
    yield head if block_given?
    body = read_body(head)
    note(head, body)
  end

  # Reads only the head and leaves the body on the socket: for servers that respond early.
  def read_head_only
    head = read_head or return
    note(head, "")
  end

  def write(bytes)
    socket.write(bytes.b)
    self
  rescue Errno::EPIPE, Errno::ECONNRESET
    left!
    raise
  end
  alias << write

  def drip(bytes, every: 0.02, size: 1)
    bytes.b.scan(/.{1,#{size}}/mn) do |piece|
      write(piece)
      socket.flush
      sleep every
    end
  end

  # Reads everything until the client closes.
  def read_rest
    rest = @buffer.slice!(0..)
    while (more = receive)
      rest << more
    end
    rest
  end

  # Waits for unsolicited bytes; returns nil when none arrive.
  def read_unexpected(seconds)
    return @buffer.slice!(0..) unless @buffer.empty?

    receive if tcp.wait_readable(seconds)
  end

  def read_exactly(count)
    fill until @buffer.bytesize >= count
    @buffer.slice!(0, count)
  end

  def read_line
    fill until (stop = @buffer.index("\r\n"))
    @buffer.slice!(0, stop + 2).delete_suffix("\r\n")
  end

  def close
    socket.close unless socket.closed?
  end

  # Sends a FIN without TLS's close_notify.
  def close_abruptly
    tcp.close unless tcp.closed?
  end

  # Sends a RST instead of a FIN.
  def reset
    tcp.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
    tcp.close
  end

  def half_close = tcp.close_write

  # Reads and discards everything until the client closes, or the test is over: an upload may be endless.
  def stall
    @buffer.clear
    nil while receive
    self
  end

  # For scripts that only write: they notice that the client has closed by a failed write.
  def left!
    @ended ||= :reset
    nil
  end

  def tls? = socket.respond_to?(:to_io) && !socket.equal?(socket.to_io)
  def tcp = socket.respond_to?(:to_io) ? socket.to_io : socket

  private

  def note(head, body)
    line, *fields = head.delete_suffix("\r\n\r\n").split("\r\n")
    verb, target, = line.split
    headers = fields.map { |field| field.split(/:[ \t]*/, 2) }
    Request.new(head + body, verb, target, headers, body).tap do |request|
      @requests << request
      @on_request.call(request)
    end
  end

  def read_head
    until (stop = @buffer.index("\r\n\r\n"))
      more = receive or return
      @buffer << more
    end
    @buffer.slice!(0, stop + 4)
  end

  def read_body(head)
    if head =~ /^transfer-encoding:.*chunked/i
      read_chunks
    elsif head =~ /^content-length:\s*(\d+)/i
      read_exactly(Regexp.last_match(1).to_i)
    else
      ""
    end
  end

  def read_chunks
    body = "".b
    loop do
      size = read_line.to_i(16)
      body << read_exactly(size)
      # After the last chunk follow trailers and an empty line; after any other chunk only an empty line.
      line = read_line
      line = read_line until line.empty?
      return body if size.zero?
    end
  end

  def fill
    @buffer << (receive or raise EOFError, "the client left in the middle of its request")
  end

  def receive
    # openssl 3.2 for Ruby reads from the descriptor of a closed socket, which may belong to another socket by now.
    raise IOError, "the script has closed it" if tcp.closed?

    bytes = socket.readpartial(BLOCK)
    @bytes_read += bytes.bytesize
    bytes
  rescue EOFError
    @ended ||= socket == tcp ? :eof : :tls_close
    nil
  rescue OpenSSL::SSL::SSLError
    @ended ||= :eof
    nil
  rescue SystemCallError
    @ended ||= :reset
    nil
  end
end
