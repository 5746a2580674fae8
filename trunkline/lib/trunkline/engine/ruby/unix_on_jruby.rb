# frozen_string_literal: true

require "java"
require_relative "errors_on_jruby"

module Trunkline
  module Engine
    module Ruby
      # A Unix socket by Java's own channel: no selector of java.nio can wait for one of JRuby's.
      module UnixOnJRuby
        Channel = Java::JavaNioChannels::SocketChannel
        private_constant :Channel

        # @param path [String]
        # @return [IO] that does not block, is not connected, and has #connect_nonblock
        # @raise [SocketError] when this Java has none
        def self.open(path)
          channel = Channel.open(Java::JavaNet::StandardProtocolFamily::UNIX)
          channel.configure_blocking(false)
          channel.to_io.extend(self).tap { |io| io.over(channel, path) }
        rescue NameError
          raise SocketError, "unix: needs Java 16 or newer"
        rescue Java::JavaIo::IOException => error
          raise ErrorsOnJRuby.of(error)
        end

        # @api private
        def over(channel, path)
          @channel = channel
          @path = path
        end

        # As Socket's. On Linux the connect of a Unix socket is never under way: it has ended at once.
        # @raise [SystemCallError] Errno::EISCONN when it is connected
        def connect_nonblock(_address, exception:) # rubocop:disable Lint/UnusedMethodArgument -- Socket has it
          raise Errno::EISCONN if @channel.connected?
          raise Errno::EAGAIN unless @channel.connect(Java::JavaNet::UnixDomainSocketAddress.of(@path))

          0
        rescue Java::JavaIo::IOException => error
          raise ErrorsOnJRuby.of(error)
        end

        # Java has closed it when the connect has failed, which JRuby 9.4 does not take.
        def close = @channel.open? ? super : nil
      end
    end
  end
end
