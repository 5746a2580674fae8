# frozen_string_literal: true

require "socket"

# A port that takes no more connections: its queue is full and nobody accepts, so a connect waits for ever.
class FullBacklog
  attr_reader :port

  def initialize
    @listener = Socket.new(:INET, :STREAM)
    @listener.bind(Addrinfo.tcp("127.0.0.1", 0))
    @listener.listen(0)
    @port = @listener.local_address.ip_port
    @waiting = []
    fill
  end

  def url(path = "/", scheme: "http") = "#{scheme}://127.0.0.1:#{port}#{path}"

  def stop = [@listener, *@waiting].each(&:close)

  private

  # How many fit is the kernel's affair: connect until one is left waiting.
  def fill
    16.times do
      socket = Socket.new(:INET, :STREAM)
      @waiting << socket
      socket.connect_nonblock(Addrinfo.tcp("127.0.0.1", port), exception: false)
      return unless socket.wait_writable(0.2)
    end
    raise "the backlog of port #{port} never filled"
  end
end
