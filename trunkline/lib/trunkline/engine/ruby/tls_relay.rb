# frozen_string_literal: true

require_relative "socket_pair"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Carries the bytes of one TLS session inside another, for the tunnel of an https proxy: OpenSSL for Ruby needs a
      # socket, so it gets one end of a socket pair, and a thread copies between the other end and the TLS session to
      # the proxy. On JRuby it also carries sessions over a Unix socket.
      class TLSRelay
        include Redacted

        BYTES = 16 * 1024
        private_constant :BYTES

        # No java.nio selector can poll the sockets of UNIXSocket.pair.
        # @param outer [SocketIO] TLS to the proxy, or a Unix socket
        # @return [BasicSocket] the socket for the inner session
        def self.open(outer)
          inner, relayed = TLSOnJRuby::ON_JRUBY ? SocketPair.over_loopback : SocketPair.open
          relay = new(outer, relayed)
          thread = Thread.new { Ruby.interruptible { relay.run } }
          thread.name = "trunkline relay"
          thread.report_on_exception = false
          inner
        end

        def initialize(outer, relayed)
          @outer = outer
          @relayed = relayed
          @pending = { out: "".b, in: "".b }
        end

        # Runs until either end is closed.
        def run
          nil while copy
        rescue Failure, SystemCallError, IOError
          nil
        ensure
          @relayed.close
          @outer.close(true)
        end

        private

        # @return [Boolean] false: one end has closed, and the other has received all its bytes
        def copy
          out = take(:out) { |buffer| @relayed.read_nonblock(BYTES, buffer, exception: false) }
          into = take(:in) { |buffer| @outer.read(BYTES, buffer) }
          sent = give(:out) { |bytes| @outer.write(bytes) }
          delivered = give(:in) { |bytes| @relayed.write_nonblock(bytes, exception: false) }
          return false if (out == :ended && @pending[:out].empty?) || (into == :ended && @pending[:in].empty?)

          wait(sent, delivered) unless [out, into].include?(:came) || [sent, delivered].include?(:moved)
          true
        end

        # Buffers one piece at a time in each direction, so that no more is read for an end that does not read.
        def take(way)
          return :full unless @pending[way].empty?

          result = yield @pending[way]
          return :ended if result.nil?

          @pending[way].clear if result.is_a?(Symbol)
          result.is_a?(Symbol) ? :nothing : :came
        end

        def give(way)
          return if @pending[way].empty?

          count = yield @pending[way]
          return count if count.is_a?(Symbol)

          @pending[way] = @pending[way].byteslice(count..)
          :moved
        end

        def wait(sent, delivered)
          writing = []
          writing << @outer.socket if sent == :wait_writable
          writing << @relayed if delivered == :wait_writable
          reading = []
          reading << @relayed if @pending[:out].empty?
          reading << @outer.socket if @pending[:in].empty? || sent == :wait_readable
          IO.select(reading, writing)
        end
      end
    end
  end
end
