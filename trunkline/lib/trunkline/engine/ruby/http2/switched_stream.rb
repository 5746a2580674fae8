# frozen_string_literal: true

require_relative "../bell"
require_relative "../dropped"
require_relative "reading_thread"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # A stream after an extended CONNECT (RFC 8441), as Switched is a connection after 101. Its descriptor is
        # readable when there is something for who reads or writes; ReadingThread reads the connection.
        class SwitchedStream
          include Redacted

          READ_BYTES = 16 * 1024
          # Taken at once of what is written.
          PIECE = 64 * 1024
          private_constant :READ_BYTES, :PIECE

          # Its stream, which its finalizer gives up.
          class Hold
            include Redacted

            attr_reader :call, :bell, :connection, :pid

            def initialize(exchange, connection, stream)
              @pool = exchange.pool
              @config = exchange.request.origin.config
              @connection = connection
              @pid = Ruby.pid
              @bell = Bell.new
              @bell.driven = true
              @call = Call.new(connection.http2, @bell, passive: true)
              @call.stream = stream
              stream.call = @call
            end

            # Others share its connection.
            def drop; end

            # The stream ends on our side, and is given up.
            def abort
              return if @over || @pid != Ruby.pid

              @over = true
              end_stream
              @bell.close
              report_news
              @pool.leave(@connection, [Ruby.now + @config.idle_timeout, @connection.due(@config.max_age)].min)
            end

            def report_news
              @pool.reconsider(@connection) if @connection.http2.take_news
            end

            private

            def end_stream
              http2 = @connection.http2
              http2.synchronize do
                now = Ruby.now
                http2.enter(@call)
                http2.session.feed(@call.stream, "", true)
                http2.write(now)
                http2.quit(@call, now)
                @connection.reading_thread(@pool).release
              end
            end
          end
          private_constant :Hold

          # @param exchange [Exchange] whose stream it takes
          # @return [SwitchedStream, nil]
          def self.of(exchange)
            hold = nil
            exchange.take_switched_stream { |connection, stream| hold = Hold.new(exchange, connection, stream) }
            hold && new(hold, exchange.request)
          end

          private_class_method :new

          def initialize(hold, request)
            @hold = hold
            @request = request
            @over = @reader_waits = @writer_waits = false
            Dropped.watch_switched(self, hold)
          end

          # @return [String, nil, :readable] nil at the end; :readable is what must be waited for
          def read
            step do |http2, stream|
              @reader_waits = false
              next taken(http2, stream) unless stream.data.empty?
              next if @over
              next end_of(stream) if readable?(stream)

              @reader_waits = true
              :readable
            end
          end

          # @param from [Integer] where in the String to begin
          # @return [Integer, nil, :readable] bytes that were taken; nil: the end
          def write(string, from)
            string = String.try_convert(string) ||
                     raise(TypeError, "no implicit conversion of #{string.class} into String")
            raise ArgumentError, "from: must be within the String" unless from.between?(0, string.bytesize)

            step do |http2, stream|
              @writer_waits = false
              http2.write(Ruby.now) unless stream.wants_body
              next fed(http2, stream, string.byteslice(from, PIECE)) if stream.wants_body && !@over
              next (end_of(stream) unless @over) if @over || writable?(stream)

              @writer_waits = true
              :readable
            end
          end

          # @return [nil, :readable] nil: all that was written is with the system
          def flush
            step do |http2, stream|
              http2.write(Ruby.now)
              @writer_waits = !(@over || (writable?(stream) && !http2.output?))
              @writer_waits ? :readable : nil
            end
          end

          # Whoever was to wait for what #read returned does not wait any more.
          def rest
            step { @reader_waits = false }
            nil
          end

          # @return [Integer] to wait for
          def descriptor = opened.bell.io.fileno

          # Ends the waits for it, in other threads too.
          def shutdown
            @over = true
            @hold&.bell&.wake
            nil
          end

          # Nobody may be waiting for the descriptor any more.
          def close
            hold = @hold
            @hold = nil
            Ruby.uninterruptible { hold.abort } if hold
            nil
          end

          private

          def opened = @hold || raise(IOError, "closed connection")

          def step(&block)
            hold = opened
            Ruby.raise_failure(Failure.new(:FORKED, phase: :read), @request) unless hold.pid == Ruby.pid

            Ruby.uninterruptible do
              hold.connection.http2.synchronize { step_locked(hold, &block) }.tap { hold.report_news }
            end
          rescue Failure => error
            Ruby.raise_failure(error, @request)
          end

          # Reader and writer wait for one descriptor: it stays readable until the one has gone on whom this step has
          # found something for.
          def step_locked(hold)
            http2 = hold.connection.http2
            call = hold.call
            http2.enter(call)
            hold.bell.clear
            yield http2, call.stream
          ensure
            http2.write(Ruby.now)
            http2.leave(call, @reader_waits || @writer_waits)
            hold.bell.wake if @over || call.again || found?(call.stream)
          end

          def found?(stream)
            (@reader_waits && readable?(stream)) || (@writer_waits && writable?(stream))
          end

          def readable?(stream) = !stream.data.empty? || stream.ended || !stream.fault.nil?

          # All that was given is framed, or nothing can be sent any more.
          def writable?(stream) = stream.wants_body || stream.closed || stream.ended || !stream.fault.nil?

          def taken(http2, stream)
            bytes = stream.shift_data(READ_BYTES)
            http2.session.took(stream, bytes.bytesize)
            bytes
          end

          def fed(http2, stream, piece)
            http2.session.feed(stream, piece, false)
            piece.bytesize
          end

          # @return [nil]
          # @raise [Failure]
          def end_of(stream)
            return if stream.ended || %i[TRUNCATED CLOSED].include?(stream.fault)

            why = @hold.connection.http2.why
            raise Failure.new(stream.fault, phase: :read, errno: why ? why.errno : 0)
          end
        end
      end
    end
  end
end
