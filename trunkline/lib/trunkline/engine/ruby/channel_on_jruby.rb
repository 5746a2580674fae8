# frozen_string_literal: true

require "java"
require_relative "failures"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # A socket by its channel of java.nio. JRuby's IO takes a reset for an end, and does much around each read. No
      # method waits.
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

        # @param buffer [Java::JavaNio::ByteBuffer] whose free part takes what comes
        # @return [Integer] 0: nothing has come; -1: the peer has ended
        # @raise [Failure]
        def read(buffer)
          @channel.read(buffer)
        rescue Java::JavaIo::IOException => error
          raise broke(error, :read)
        end

        # @param buffer [Java::JavaNio::ByteBuffer] from which is taken what the socket takes
        # @return [Integer]
        # @raise [Failure]
        def write(buffer)
          @channel.write(buffer)
        rescue Java::JavaIo::IOException => error
          raise broke(error, :write)
        end

        private

        def broke(error, phase)
          words = error.message.to_s
          errno = ERRORS.find { |pattern, _| pattern.match?(words) }&.last
          return Failure.new(:RESET, phase: phase, errno: errno) if errno

          Failure.new(:RESET, words.empty? ? error.java_class.simple_name : words, phase: phase)
        end
      end
    end
  end
end
