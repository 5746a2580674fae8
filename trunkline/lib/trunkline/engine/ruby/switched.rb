# frozen_string_literal: true

require_relative "failures"
require_relative "http2/switched_stream"
require_relative "../../redacted"

module Trunkline
  module Engine
    # A connection after 101 (Switching Protocols), which belongs to the caller. It counts as in use until it is closed.
    # No method waits: the event to wait for is returned.
    class Switched
      include Redacted

      READ_BYTES = 16 * 1024
      private_constant :READ_BYTES

      # The connection, which the finalizer closes.
      class Hold
        include Redacted

        attr_reader :connection

        def initialize(pool, connection)
          @pool = pool
          @connection = connection
          @pid = Ruby.pid
        end

        # (see Connection#drop)
        def drop
          @connection&.drop if @pid == Ruby.pid
        end

        def abort
          connection = @connection
          @connection = nil
          @pool.discard(connection, true) if connection
        end
      end
      private_constant :Hold

      private_class_method :new

      # @param exchange [Ruby::Exchange]
      # @return [Switched, Ruby::HTTP2::SwitchedStream, nil]
      def self.of(exchange)
        return Ruby::HTTP2::SwitchedStream.of(exchange) if exchange.shared?

        connection, rest = exchange.take_switched
        connection && new(exchange.pool, connection, rest, exchange.request)
      end

      def initialize(pool, connection, rest, request)
        @hold = Hold.new(pool, connection)
        Ruby::Dropped.watch_switched(self, @hold)
        @rest = rest
        @request = request
      end

      # @return [String, nil, :readable, :writable] nil at the end; a Symbol is the event to wait for
      def read
        unless @rest.empty?
          rest = @rest
          @rest = "".b
          return rest
        end
        waited(usable(:read).io.read(READ_BYTES, String.new(encoding: Encoding::BINARY)))
      rescue Ruby::Failure => error
        Ruby.raise_failure(error, @request)
      end

      # @param from [Integer] offset in the String at which to begin
      # @return [Integer, :readable, :writable] number of bytes that were accepted
      def write(string, from)
        string = String.try_convert(string) || raise(TypeError, "no implicit conversion of #{string.class} into String")
        raise ArgumentError, "from: must be within the String" unless from.between?(0, string.bytesize)

        waited(usable(:write).io.write(string.byteslice(from..)))
      rescue Ruby::Failure => error
        Ruby.raise_failure(error, @request)
      end

      # @return [nil] all written bytes were passed to the operating system
      def flush = opened && nil

      # The caller no longer waits for the event that #read returned.
      def rest = opened && nil

      # @return [Integer] the file descriptor to wait for
      def descriptor = opened.io.socket.fileno

      # Ends waits for the file descriptor, in other threads too.
      def shutdown
        @hold.connection&.shutdown
        nil
      rescue SystemCallError, IOError
        nil
      end

      # No thread may be waiting for the file descriptor when it is closed.
      def close
        Ruby.uninterruptible { @hold.abort }
        nil
      end

      private

      def opened = @hold.connection || raise(IOError, "closed connection")

      # In a forked child the descriptor is closed, and its number may already be that of another file, which OpenSSL
      # would use.
      def usable(phase)
        connection = opened
        raise Ruby::Failure.new(:FORKED, phase: phase) unless connection.pid == Ruby.pid

        connection
      end

      def waited(result)
        case result
        when :wait_readable then :readable
        when :wait_writable then :writable
        else result
        end
      end
    end
  end
end
