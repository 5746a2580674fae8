# frozen_string_literal: true

require "rbconfig"
require_relative "child_server"

# A server in a separate process, which is independent of this process' GVL. It responds to each GET after 5 ms
# ("/quick": at once) with the monotonic clock, in nanoseconds, read just before the response's last byte was written.
# It responds to "/streamed" in two chunks, 0.9 to 1 s apart: busy threads release the GVL every 0.1 s, and the second
# chunk arrives at a random moment of that period.
class TimestampServer < ChildServer
  CODE = <<~'RUBY'
    require "socket"
    listener = TCPServer.new("127.0.0.1", Integer(ARGV.first))
    now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond).to_s }
    serve = lambda do |socket|
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      while (line = socket.gets)
        nil until socket.gets == "\r\n"
        sleep 0.005 unless line.start_with?("GET /quick ")
        if line.start_with?("GET /streamed ")
          socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
          sleep 0.9 + rand * 0.1
          time = now.call
          socket.write("#{time.bytesize.to_s(16)}\r\n#{time}\r\n0\r\n\r\n")
        else
          time = now.call
          socket.write("HTTP/1.1 200 OK\r\nContent-Length: #{time.bytesize}\r\n\r\n#{time}")
        end
      end
    rescue SystemCallError
      nil
    end
    loop { Thread.new(listener.accept, &serve) }
  RUBY

  # Returns the time since the response was written.
  # @param body [String] the body of a response
  # @return [Float] seconds
  def self.since(body)
    (Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - Integer(body.delete_prefix("first"))) / 1e9
  end

  attr_reader :port

  def initialize
    super("punctual")
    start do
      @port = FreePort.take
      [[@port], [RbConfig.ruby, "--disable=gems", "-e", CODE, @port.to_s]]
    end
  end

  def url(path = "/") = "http://127.0.0.1:#{port}#{path}"
end
