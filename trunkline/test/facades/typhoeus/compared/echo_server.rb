# frozen_string_literal: true

require "socket"

# Echoes each request as the body, and its request line in the field X-Line, since a response to HEAD has no body.
module EchoServer
  module_function

  # @yield [url]
  # @return [Object] the block's value
  def run
    listener = TCPServer.new("127.0.0.1", 0)
    connections = []
    accepting = Thread.new { loop { connections << Thread.new(listener.accept) { |socket| serve(socket) } } }
    yield "http://127.0.0.1:#{listener.addr[1]}"
  ensure
    accepting&.kill&.join
    connections.each(&:join) # the clients have closed by now
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
    nil # the client has closed the connection
  ensure
    socket.close
  end

  private_class_method :serve
end
