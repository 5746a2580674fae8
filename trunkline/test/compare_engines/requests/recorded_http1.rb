# frozen_string_literal: true

# Receives HTTP/1.1 requests on one connection, and answers them. It reads a request as a lenient server does, and
# records all bytes.
class RecordedHTTP1
  BODY = "ok"

  # @param bytes [String] what was received; grows
  def initialize(socket, recorder, bytes)
    @socket = socket
    @recorder = recorder
    @bytes = bytes
    @from = 0
  end

  def run
    answer while (stop = read_until("\r\n\r\n")) && receive(@bytes.byteslice(@from, stop - @from))
  end

  private

  # @return [Integer, nil] where the text ends; nil: the connection ended before
  def read_until(text)
    until (at = @bytes.index(text, @from))
      read or return
    end
    at + text.bytesize
  end

  # @return [String, nil] nil at the end of the connection
  def read
    @bytes << @socket.readpartial(65_536)
  rescue EOFError
    nil
  end

  def receive(head)
    @head = head
    @from += head.bytesize
    @socket.write("HTTP/1.1 100 Continue\r\n\r\n") if head.match?(/^expect:/i)
    return receive_chunks if head.match?(/^transfer-encoding: chunked\r$/i)

    stop = @from + head[/^content-length: (\d+)\r$/i, 1].to_i
    read or return while @bytes.bytesize < stop
    @from = stop
  end

  def receive_chunks
    while (stop = read_until("\r\n"))
      size = @bytes.byteslice(@from, stop - @from).to_i(16)
      @from = stop + size + 2
      read or return while @bytes.bytesize < @from
      return true if size.zero?
    end
  end

  def answer
    status, fields = @recorder.next_answer
    body = @head.start_with?("HEAD ") ? "" : BODY
    status = 502 if @head.start_with?("CONNECT ")
    lines = fields.map { |name, value| "#{name}: #{value}\r\n" }
    @socket.write("HTTP/1.1 #{status} X\r\n#{lines.join}Content-Length: #{BODY.bytesize}\r\n\r\n#{body}".b)
  end
end
