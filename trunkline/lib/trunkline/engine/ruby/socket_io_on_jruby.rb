# frozen_string_literal: true

require_relative "channel_on_jruby"
require_relative "wait_on_jruby"

module Trunkline
  module Engine
    module Ruby
      # A SocketIO that uses the socket's java.nio channel.
      class SocketIOOnJRuby < SocketIO
        # A larger buffer is allocated when a read has filled the first.
        FIRST_BYTES = 16 * 1024
        # Each write copies its argument, which may be far larger than what the socket accepts.
        WRITE_BYTES = 256 * 1024
        private_constant :FIRST_BYTES, :WRITE_BYTES

        ByteBuffer = Java::JavaNio::ByteBuffer
        private_constant :ByteBuffer

        def initialize(socket)
          super
          @channel = ChannelOnJRuby.new(socket)
          make_room(FIRST_BYTES)
        end

        def read(most, buffer)
          make_room(most) if @filled && most > @size
          most = @size if most > @size
          count = read_most(most)
          return count.zero? ? :wait_readable : nil unless count.positive?

          @filled = count == most
          buffer.replace(String.from_java_bytes(@bytes[0, count]))
        end

        def write(bytes)
          bytes = bytes.byteslice(0, WRITE_BYTES) if bytes.bytesize > WRITE_BYTES
          count = @channel.write(ByteBuffer.wrap(bytes.to_java_bytes))
          count.zero? && !bytes.empty? ? :wait_writable : count
        end

        def quiet? = @channel.quiet?(@buffer)

        def close(_notify)
          super
          WaitOnJRuby.closed(@socket)
        end

        private

        def make_room(size)
          @size = size
          @bytes = Java::byte[size].new
          @buffer = ByteBuffer.wrap(@bytes)
        end

        def read_most(most)
          @buffer.limit(most) if most < @size
          count = @channel.read(@buffer)
          @buffer.clear if count.positive? || most < @size
          count
        end
      end
    end
  end
end
