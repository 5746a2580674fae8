# frozen_string_literal: true

require "java"
require_relative "errors_on_jruby"

module Trunkline
  module Engine
    module Ruby
      # A Unix socket with Java's channel: no java.nio selector can poll JRuby's Unix sockets.
      module UnixOnJRuby
        Channel = Java::JavaNioChannels::SocketChannel
        private_constant :Channel

        # @param path [String]
        # @return [IO] non-blocking and not connected, with its own #connect_nonblock
        # @raise [SocketError] when this Java has no Unix sockets
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

        # As Socket#connect_nonblock. On Linux a connect to a Unix socket is never in progress: it completes or fails at
        # once.
        # @raise [SystemCallError] Errno::EISCONN when it is connected
        def connect_nonblock(_address, exception:) # rubocop:disable Lint/UnusedMethodArgument -- Socket has it
          raise Errno::EISCONN if @channel.connected?
          raise Errno::EAGAIN unless @channel.connect(Java::JavaNet::UnixDomainSocketAddress.of(@path))

          0
        rescue Java::JavaIo::IOException => error
          raise ErrorsOnJRuby.of(error)
        end

        # Java closes the channel when connect fails, and then JRuby 9.4's close raises.
        def close = @channel.open? ? super : nil
      end
    end
  end
end
