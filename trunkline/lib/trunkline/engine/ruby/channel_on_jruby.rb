# frozen_string_literal: true

require "java"
require_relative "failures"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # The java.nio channel of a socket. JRuby's IO reports a reset as the end of the stream, and does much additional
      # work for each read. No method waits.
      class ChannelOnJRuby
        include Redacted

        ERRORS = { /reset/i => Errno::ECONNRESET::Errno, /broken pipe/i => Errno::EPIPE::Errno,
                   /timed out/i => Errno::ETIMEDOUT::Errno }.freeze
        private_constant :ERRORS

        # @param socket [IO]
        def initialize(socket)
          @channel = socket.to_channel
          @channel.configure_blocking(false)
        end

        # @param buffer [Java::JavaNio::ByteBuffer] receives the bytes in its free part
        # @return [Integer] 0: no bytes have arrived; -1: the peer has closed the connection
        # @raise [Failure]
        def read(buffer)
          @channel.read(buffer)
        rescue Java::JavaIo::IOException => error
          raise reset_failure(error, :read)
        end

        # @param buffer [Java::JavaNio::ByteBuffer] may receive bytes; then the channel is of no more use
        # @return [Boolean] whether the connection is open, and no bytes have arrived
        def quiet?(buffer)
          @channel.read(buffer).zero?
        rescue Java::JavaIo::IOException
          false
        end

        # @param buffer [Java::JavaNio::ByteBuffer] the bytes that the socket accepts are consumed from it
        # @return [Integer]
        # @raise [Failure]
        def write(buffer)
          @channel.write(buffer)
        rescue Java::JavaIo::IOException => error
          raise reset_failure(error, :write)
        end

        private

        def reset_failure(error, phase)
          words = error.message.to_s
          errno = ERRORS.find { |pattern, _| pattern.match?(words) }&.last
          return Failure.new(:RESET, phase: phase, errno: errno) if errno

          Failure.new(:RESET, words.empty? ? error.java_class.simple_name : words, phase: phase)
        end
      end
    end
  end
end
