# frozen_string_literal: true

require "socket"

# A port that accepts no more connections: its queue is full and no process accepts, so a connect waits for ever.
class FullBacklog
  attr_reader :port

  def initialize
    RUBY_ENGINE == "jruby" ? listen_on_jruby : listen
    @waiting = []
    fill
  end

  def url(path = "/", scheme: "http") = "#{scheme}://127.0.0.1:#{port}#{path}"

  def stop = [@listener, *@waiting].each(&:close)

  private

  def listen
    @listener = Socket.new(:INET, :STREAM)
    @listener.bind(Addrinfo.tcp("127.0.0.1", 0))
    @listener.listen(0)
    @port = @listener.local_address.ip_port
  end

  # On JRuby a Socket cannot listen, and a TCPServer has a long queue.
  def listen_on_jruby
    @listener = java.net.ServerSocket.new(0, 1, java.net.InetAddress.get_by_name("127.0.0.1"))
    @port = @listener.local_port
  end

  # The length of the queue depends on the kernel, so this connects until a connection has to wait.
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
