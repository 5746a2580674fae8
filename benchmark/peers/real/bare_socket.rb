# frozen_string_literal: true

require "openssl"
require "socket"
require_relative "../../support/peer"

module Bench
  module Peers
    # The lower bound for any client on Ruby's own sockets on this host: each request is written to a kept socket, and
    # one read returns the response, of which only the start of the body is found. It has no timeout.
    class BareSocket < Peer
      label "bare socket of Ruby"

      ROOM = 16 * 1024
      HEAD_END = "\r\n\r\n"
      private_constant :ROOM, :HEAD_END

      private

      def open
        @read = String.new(capacity: ROOM)
        @fields = " HTTP/1.1\r\nHost: #{uri.host}:#{uri.port}\r\nAccept: */*\r\n\r\n"
        socket = TCPSocket.new(uri.host, uri.port)
        socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
        uri.scheme == "https" ? over_tls(socket) : socket
      end

      def over_tls(socket)
        tls = OpenSSL::SSL::SSLSocket.new(socket, trusting_context)
        tls.sync_close = true
        tls.connect
      end

      def exchange(socket, call)
        socket.syswrite("GET #{call.path}#{@fields}")
        answer = socket.sysread(ROOM, @read)
        [answer.byteslice(9, 3).to_i, answer.byteslice((answer.index(HEAD_END) + HEAD_END.size)..)]
      end

      def close(socket) = socket.close
    end
  end
end
