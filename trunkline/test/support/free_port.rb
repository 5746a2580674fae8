# frozen_string_literal: true

require "socket"

# Port numbers for servers that cannot bind port 0 themselves. All ports of one call are held at once, so that it never
# returns the same number twice.
module FreePort
  module_function

  def take(count = 1)
    held = Array.new(count) { TCPServer.new("127.0.0.1", 0) }
    ports = held.map { |server| server.addr[1] }
    count == 1 ? ports.first : ports
  ensure
    held&.each(&:close)
  end

  def open?(port)
    Socket.tcp("127.0.0.1", port, connect_timeout: 1, &:close)
    true
  rescue SystemCallError
    false
  end
end
