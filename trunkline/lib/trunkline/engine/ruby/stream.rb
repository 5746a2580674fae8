# frozen_string_literal: true

require "io/wait"
require_relative "failures"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # A socket with TLS over it, or without. No method waits.
      class Stream
        include Redacted

        # @return [Socket] to wait for
        attr_reader :socket

        # @param socket [Socket]
        # @return [Stream]
        def self.over(socket) = RUBY_ENGINE == "jruby" ? StreamOnJRuby.new(socket) : new(socket)

        # @param socket [Socket]
        def initialize(socket)
          @socket = socket
        end

        # @param buffer [String] that takes what comes
        # @return [String, nil, :wait_readable, :wait_writable] nil: the peer has ended cleanly
        # @raise [Failure]
        def read(most, buffer)
          @socket.read_nonblock(most, buffer, exception: false)
        rescue SystemCallError => error
          raise Failure.new(:RESET, phase: :read, errno: error.errno)
        rescue IOError # it is closed in a forked child
          raise Failure.new(:FORKED, phase: :read)
        end

        # @return [Integer, :wait_readable, :wait_writable] how many bytes were taken
        # @raise [Failure]
        def write(bytes)
          @socket.write_nonblock(bytes, exception: false)
        rescue SystemCallError => error
          raise Failure.new(:RESET, phase: :write, errno: error.errno)
        rescue IOError
          raise Failure.new(:FORKED, phase: :write)
        end

        # @return [Boolean] whether the last end that #read told lacked TLS's close_notify
        def truncated? = false

        # @return [Boolean] whether bytes lie there that no wait would tell of
        def pending? = false

        # @return [Boolean] whether the server may have some of what #write has not yet taken
        def started? = false

        # @return [Boolean] whether nothing has come and it has not ended; what has come is lost
        def quiet?
          @socket.read_nonblock(1, exception: false) == :wait_readable
        rescue SystemCallError, IOError
          false
        end

        # @return [String, nil] "TLSv1.3"; nil without TLS
        def tls_version = nil
        def cipher = nil

        # @return [String, nil] what ALPN has chosen: "h2"
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

require_relative "stream_on_jruby" if RUBY_ENGINE == "jruby"
