# frozen_string_literal: true

require "openssl"
require "socket"
require_relative "scripted_connection"

module Trunkline
  module Lab
    module Origins
      # A server that runs a script for each connection, in a separate thread. A socket error in the script was caused
      # by the client and is part of the experiment.
      class Scripted
        # @yield [server]
        def self.open(script, **options)
          server = new(script, **options)
          yield server
        ensure
          server&.stop
        end

        # @param script [#call] called with each Connection
        # @param tls [OpenSSL::SSL::SSLContext, nil]
        def initialize(script, tls: nil)
          @script = script
          @tls = tls
          @listener = TCPServer.new("127.0.0.1", 0)
          @accepted = 0
          @threads = [Thread.new { accept }]
        end

        def port = @listener.addr[1]
        def plain = "http://127.0.0.1:#{port}"
        def tls = "https://127.0.0.1:#{port}"

        def stop
          @threads.each(&:kill).each(&:join)
          @listener.close
        end

        private

        def accept
          loop do
            socket = @listener.accept
            socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
            number = @accepted += 1
            @threads << Thread.new { serve(socket, number) }
          end
        end

        def serve(socket, number)
          stream = shake_hands(socket)
          @script.call(Connection.new(stream, number))
        rescue IOError, SystemCallError, OpenSSL::SSL::SSLError
          nil # the client closed the connection
        ensure
          close(stream, socket)
        end

        def shake_hands(socket)
          return socket unless @tls

          OpenSSL::SSL::SSLSocket.new(socket, @tls).tap(&:accept)
        end

        # Ends TLS properly, unless the script has closed the TCP connection.
        def close(stream, socket)
          stream.close unless stream.nil? || socket.closed?
        rescue IOError, SystemCallError, OpenSSL::SSL::SSLError
          nil
        ensure
          socket.close
        end
      end

      # A listener with a full queue, so that no further connection is accepted.
      class FullQueue
        FILLERS = 4

        def self.open
          listener = Socket.new(:INET, :STREAM)
          listener.bind(Addrinfo.tcp("127.0.0.1", 0))
          listener.listen(0)
          address = listener.local_address
          fillers = Array.new(FILLERS) do
            Socket.new(:INET, :STREAM).tap { |socket| socket.connect_nonblock(address, exception: false) }
          end
          yield "http://127.0.0.1:#{address.ip_port}"
        ensure
          fillers&.each(&:close)
          listener&.close
        end
      end
    end
  end
end
