# frozen_string_literal: true

require_relative "failures"
require_relative "head_lines"
require_relative "socket_io"
require_relative "waker"
require_relative "../../redacted"
require_relative "ending_on_jruby" if RUBY_ENGINE == "jruby"

module Trunkline
  module Engine
    module Ruby
      # An open connection, used by one call at a time, or shared by many (#http2).
      class Connection
        include Redacted

        @last_id = 0
        @lock = StepLock.new

        class << self
          def next_id = @lock.synchronize { @last_id += 1 }

          # JRuby does not close sockets that are garbage collected.
          # @param socket [IO] must not refer to its Connection
          def closer(socket)
            lambda do |_id|
              socket.close unless EndingOnJRuby.finalizing?
            rescue SystemCallError, IOError
              nil
            end
          end
        end

        attr_reader :io, :id, :owner, :opened_at, :address, :pid
        # @return [HeadLines]
        attr_reader :head_lines
        # The time until which it may be idle; whether it must be closed when it is returned to the pool; the pool's
        # bucket that it belongs to.
        attr_accessor :idle_until, :unwanted, :bucket
        # @return [HTTP2::Connection, nil]
        attr_reader :http2
        # For a shared connection: number of calls that use it; whether the pool assigns no more calls to it.
        attr_accessor :calls, :retired

        # @param io [SocketIO]
        # @param address [String] of its peer, for messages
        # @param owner [Integer] the owner id of its client
        def initialize(io, address, owner, now)
          @io = io
          @address = address
          @owner = owner
          @opened_at = now
          @id = Connection.next_id
          @lifespan = 1 - ((@id % 16) / 128.0) # share of max_age, so that connections expire at different times
          @pid = Ruby.pid
          @idle_until = 0.0
          @unwanted = @retired = false
          @calls = 0
          @head_lines = HeadLines.new
          ObjectSpace.define_finalizer(self, Connection.closer(io.socket)) if RUBY_ENGINE == "jruby"
        end

        # Begins HTTP/2 on the connection.
        def share
          @http2 = HTTP2::Connection.new(@io, @opened_at)
        end

        # For a shared connection; the caller holds the lock of #http2.
        def reading_thread(pool) = @reading_thread ||= HTTP2::ReadingThread.new(pool, self)

        # @return [Boolean] whether no unread bytes have arrived and the peer has not closed it; if shared: whether it
        #   accepts more calls
        def alive?
          @http2 ? @http2.usable? : @io.quiet?
        rescue Failure
          false
        end

        # @return [Float] the time from which it is too old for further calls
        def due(max_age) = @opened_at + (max_age * @lifespan)

        # Shuts the socket down, which also ends waits for it in other threads; in a forked child, nothing.
        def shutdown
          return unless @pid == Ruby.pid

          @io.socket.shutdown(Socket::SHUT_RDWR)
        rescue SystemCallError, IOError
          nil
        end

        # For finalizers: only closes the file descriptor, unless the connection is shared.
        def drop
          @io.socket.close unless @http2
        end

        # @param notify [Boolean] whether TLS sends close_notify
        def close(notify)
          @http2&.send_goaway if notify && @pid == Ruby.pid
          @io.close(notify && @pid == Ruby.pid)
        end
      end
    end
  end
end
