# frozen_string_literal: true

require "socket"

# Answers each request with its own bytes, and with its request line in the field X-Line, as there is no body for HEAD.
module EchoServer
  module_function

  # @yield [url]
  # @return [Object] of the block
  def run
    listener = TCPServer.new("127.0.0.1", 0)
    connections = []
    accepting = Thread.new { loop { connections << Thread.new(listener.accept) { |socket| serve(socket) } } }
    yield "http://127.0.0.1:#{listener.addr[1]}"
  ensure
    accepting&.kill&.join
    connections.each(&:join) # their clients have ended
    listener.close
  end

  def serve(socket)
    while (head = socket.gets("\r\n\r\n"))
      received = head + socket.read(head[/^content-length: (\d+)/i, 1].to_i)
      fields = "Content-Length: #{received.bytesize}\r\nX-Line: #{head.lines.first.chomp}\r\n"
      socket.write("HTTP/1.1 200 OK\r\n#{fields}\r\n")
      socket.write(received) unless head.start_with?("HEAD")
    end
  rescue SystemCallError
    nil # the client has left
  ensure
    socket.close
  end

  private_class_method :serve
end
