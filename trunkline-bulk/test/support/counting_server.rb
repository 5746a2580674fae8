# frozen_string_literal: true

require "socket"

# A server with persistent connections, which counts the requests by their target.
class CountingServer
  attr_reader :port

  # @yield [target] returns [status, body] or [status, body, fields]; without a block the status is 200
  def initialize(port = 0, &responder)
    @listener = TCPServer.new("127.0.0.1", port)
    @port = @listener.addr[1]
    @responder = responder || ->(_) { [200, "ok"] }
    @counts = Hash.new(0)
    @lock = Mutex.new
    @sockets = []
    @thread = Thread.new { accept }
  end

  def url(path = "") = "http://127.0.0.1:#{@port}#{path}"

  # @return [Hash{String => Integer}]
  def counts = @lock.synchronize { @counts.dup }

  def total = @lock.synchronize { @counts.values.sum }

  def stop
    @thread.kill
    @listener.close
    @lock.synchronize { @sockets.each { |socket| socket.close unless socket.closed? } }
  rescue IOError
    nil
  end

  private

  def accept
    loop do
      socket = @listener.accept
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      @lock.synchronize { @sockets << socket }
      Thread.new { serve(socket) }.report_on_exception = false
    end
  end

  def serve(socket)
    while (line = socket.gets)
      target = line.split[1]
      nil until socket.gets == "\r\n"
      @lock.synchronize { @counts[target] += 1 }
      status, body, fields = @responder.call(target)
      socket.write("HTTP/1.1 #{status} X\r\nContent-Length: #{body.bytesize}\r\n#{fields}\r\n#{body}")
    end
  ensure
    socket.close unless socket.closed?
  end
end
