# frozen_string_literal: true

require "io/wait"
require_relative "failures"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # A socket with or without TLS. No method waits.
      class SocketIO
        include Redacted

        # @return [Socket] the socket to poll
        attr_reader :socket

        # @param socket [Socket]
        # @return [SocketIO]
        def self.over(socket) = RUBY_ENGINE == "jruby" ? SocketIOOnJRuby.new(socket) : new(socket)

        # @param socket [Socket]
        def initialize(socket)
          @socket = socket
        end

        # @param buffer [String] receives the bytes
        # @return [String, nil, :wait_readable, :wait_writable] nil: the peer has closed
        # @raise [Failure]
        def read(most, buffer)
          @socket.read_nonblock(most, buffer, exception: false)
        rescue SystemCallError => error
          raise Failure.new(:RESET, phase: :read, errno: error.errno)
        rescue IOError # the socket was closed in a forked child
          raise Failure.new(:FORKED, phase: :read)
        end

        # @return [Integer, :wait_readable, :wait_writable] number of bytes that were accepted
        # @raise [Failure]
        def write(bytes)
          @socket.write_nonblock(bytes, exception: false)
        rescue SystemCallError => error
          raise Failure.new(:RESET, phase: :write, errno: error.errno)
        rescue IOError
          raise Failure.new(:FORKED, phase: :write)
        end

        # @return [Boolean] whether the end that #read returned last lacked TLS's close_notify
        def truncated? = false

        # @return [Boolean] whether buffered bytes can be read without an event on the socket
        def pending? = false

        # @return [Boolean] whether the server may have a part of the bytes that #write has not accepted
        def partial_record? = false

        # @return [Boolean] whether no bytes have arrived and the peer has not closed; bytes that have arrived are lost
        def quiet?
          @socket.read_nonblock(1, exception: false) == :wait_readable
        rescue SystemCallError, IOError
          false
        end

        # @return [String, nil] "TLSv1.3"; nil without TLS
        def tls_version = nil
        def cipher = nil

        # @return [String, nil] the protocol that ALPN has negotiated: "h2"
        def protocol = nil

        def close(_notify)
          @socket.close
        rescue SystemCallError, IOError
          nil
        end
      end
    end
  end
end

require_relative "socket_io_on_jruby" if RUBY_ENGINE == "jruby"
