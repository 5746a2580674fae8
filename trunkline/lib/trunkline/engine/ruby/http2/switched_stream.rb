# frozen_string_literal: true

require_relative "../io_waker"
require_relative "../dropped"
require_relative "reading_thread"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # A stream after an extended CONNECT (RFC 8441), with the methods of Switched. Its file descriptor is readable
        # when the reader or the writer can continue; ReadingThread reads the connection.
        class SwitchedStream
          include Redacted

          READ_BYTES = 16 * 1024
          # Maximum of bytes that one #write accepts.
          PIECE = 64 * 1024
          private_constant :READ_BYTES, :PIECE

          # The state that the finalizer needs to end the stream.
          class Hold
            include Redacted

            attr_reader :call, :waker, :connection, :pid

            def initialize(exchange, connection, stream)
              @pool = exchange.pool
              @config = exchange.request.origin.config
              @connection = connection
              @pid = Ruby.pid
              @waker = IOWaker.new
              @waker.driven = true
              @call = Call.new(connection.http2, @waker, never_leads: true)
              @call.stream = stream
              stream.call = @call
            end

            # Does nothing, since other calls share the connection.
            def drop; end

            # Ends the stream on the client's side, and releases it.
            def abort
              return if @ended || @pid != Ruby.pid

              @ended = true
              end_stream
              @waker.close
              report_state_change
              @pool.leave(@connection, [Ruby.now + @config.idle_timeout, @connection.due(@config.max_age)].min)
            end

            def report_state_change
              @pool.reconsider(@connection) if @connection.http2.take_state_change
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

          # @param exchange [Exchange] the exchange of the stream
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
            @shut_down = @reader_waits = @writer_waits = false
            Dropped.watch_switched(self, hold)
          end

          # @return [String, nil, :readable] nil at the end; :readable: wait until #descriptor is readable
          def read
            step do |http2, stream|
              @reader_waits = false
              next take_data(http2, stream) unless stream.data.empty?
              next if @shut_down
              next end_of(stream) if readable?(stream)

              @reader_waits = true
              :readable
            end
          end

          # @param from [Integer] offset in the String at which to begin
          # @return [Integer, nil, :readable] bytes that were accepted; nil: the stream has ended
          def write(string, from)
            string = String.try_convert(string) ||
                     raise(TypeError, "no implicit conversion of #{string.class} into String")
            raise ArgumentError, "from: must be within the String" unless from.between?(0, string.bytesize)

            step do |http2, stream|
              @writer_waits = false
              http2.write(Ruby.now) unless stream.wants_body
              next feed(http2, stream, string.byteslice(from, PIECE)) if stream.wants_body && !@shut_down
              next (end_of(stream) unless @shut_down) if @shut_down || writable?(stream)

              @writer_waits = true
              :readable
            end
          end

          # @return [nil, :readable] nil: all written bytes were passed to the operating system
          def flush
            step do |http2, stream|
              http2.write(Ruby.now)
              @writer_waits = !(@shut_down || (writable?(stream) && !http2.output?))
              @writer_waits ? :readable : nil
            end
          end

          # The caller no longer waits for the event that #read returned.
          def rest
            step { @reader_waits = false }
            nil
          end

          # @return [Integer] the file descriptor to wait for
          def descriptor = opened.waker.io.fileno

          # Ends waits for the file descriptor, in other threads too.
          def shutdown
            @shut_down = true
            @hold&.waker&.wake
            nil
          end

          # No thread may be waiting for the file descriptor when it is closed.
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
              hold.connection.http2.synchronize { step_locked(hold, &block) }.tap { hold.report_state_change }
            end
          rescue Failure => error
            Ruby.raise_failure(error, @request)
          end

          # The reader and the writer wait for one file descriptor, so it stays readable while either of them can
          # continue.
          def step_locked(hold)
            http2 = hold.connection.http2
            call = hold.call
            http2.enter(call)
            hold.waker.clear
            yield http2, call.stream
          ensure
            http2.write(Ruby.now)
            http2.leave(call, @reader_waits || @writer_waits)
            hold.waker.wake if @shut_down || call.again || can_continue?(call.stream)
          end

          def can_continue?(stream)
            (@reader_waits && readable?(stream)) || (@writer_waits && writable?(stream))
          end

          def readable?(stream) = !stream.data.empty? || stream.ended || !stream.fault.nil?

          # Returns whether all bytes that were fed are framed, or nothing more can be sent.
          def writable?(stream) = stream.wants_body || stream.closed || stream.ended || !stream.fault.nil?

          def take_data(http2, stream)
            bytes = stream.shift_data(READ_BYTES)
            http2.session.consumed(stream, bytes.bytesize)
            bytes
          end

          def feed(http2, stream, piece)
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
