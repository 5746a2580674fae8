# frozen_string_literal: true

require "socket"

module Trunkline
  module Engine
    module Ruby
      # Two sockets that are connected with each other.
      module SocketPair
        # Windows has no UNIXSocket, or one without .pair.
        UNIX = defined?(UNIXSocket) ? UNIXSocket.respond_to?(:pair) : false

        module_function

        # @return [Array(BasicSocket, BasicSocket)]
        def open = UNIX ? UNIXSocket.pair : over_loopback

        # @return [Array(TCPSocket, TCPSocket)] connected with each other, and not with another program
        def over_loopback
          TCPServer.open("127.0.0.1", 0) do |server|
            loop do
              one = TCPSocket.new("127.0.0.1", server.local_address.ip_port)
              other = accept(server, one)
              return [one, other].each { |socket| send_at_once(socket) } if pair?(one, other)

              [one, other].each(&:close) # another program has connected first
            end
          end
        end

        def accept(server, one)
          server.accept
        rescue SystemCallError # no descriptor is left
          one.close
          raise
        end

        def pair?(one, other) = one.local_address.ip_port == other.remote_address.ip_port

        def send_at_once(socket) = socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
        private_class_method :accept, :pair?, :send_at_once
      end
    end
  end
end
