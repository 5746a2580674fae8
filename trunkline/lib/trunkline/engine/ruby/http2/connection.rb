# frozen_string_literal: true

require_relative "call"
require_relative "leading"
require_relative "session"
require_relative "../step_lock"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # An HTTP/2 connection, shared by all calls that have a stream on it. No background thread reads it, except for
        # WebSockets (ReadingThread): see Leading. Each step of a call holds the connection's lock, and never waits. A
        # thread that holds this lock must not take the pools' lock.
        class Connection
          include Redacted
          include Leading

          READ_BYTES = 64 * 1024
          # Maximum of reads at once by a reader that has no call on the connection.
          READS_AT_ONCE = 16
          # Seconds of silence after which a server is sent a PING, and seconds within which it must acknowledge it.
          PING_AFTER = 30.0
          PING_TIMEOUT = 5.0
          private_constant :READ_BYTES, :READS_AT_ONCE, :PING_AFTER, :PING_TIMEOUT

          # @return [Session] only for use within a step
          attr_reader :session
          # @return [Failure, nil] why the connection has failed
          attr_reader :why
          # @return [IO]
          attr_reader :socket
          # State that may be read without the lock: how many streams the server allows; whether the connection accepts
          # no more calls (#closing?); whether the server has sent anything yet (#any_received?).
          attr_reader :max_streams

          # @param io [SocketIO] an open socket
          # @param opened_at [Float]
          def initialize(io, opened_at)
            @lock = StepLock.new
            @session = Session.new
            @io = io
            @socket = io.socket
            @received_at = opened_at
            @any_received = @retired = @closing = @dead = @write_broken = @unread = @state_changed = false
            @max_streams = @session.max_streams
            @wants_read = :read
            @sending = [] # calls whose requests are not completely written
            prepare_leading
          end

          def any_received? = @any_received
          def closing? = @closing
          # @return [Boolean] whether bytes remain to be written
          def output? = !@dead && @session.output?

          def supports_connect? = @session.extended_connect == :supported

          # @yield with the lock held
          # @return [Object] the result of the block
          def synchronize
            @lock.synchronize do
              @stepped_by = Thread.current
              yield
            ensure
              @stepped_by = nil
            end
          end

          # ---- for callers without a call on it ----

          # Checks the connection before a new call: reads the bytes that have arrived if no call reads it. A server
          # that has been silent for long is sent a PING before the call's request; the acknowledgement is not awaited.
          #
          # @return [Boolean] whether it is alive, and accepts more calls
          def usable?
            return false if @stepped_by.equal?(Thread.current) # true if a signal handler runs within a step

            synchronize do
              next false if @closing

              now = Ruby.now
              read_pending(now) if nobody_reads?
              ping_if_silent(now)
              refresh
              !@closing
            end
          end

          # Called by the reaper: reads if no call does, and sends a PING to a server that has been silent for long; if
          # it does not acknowledge the PING, the connection gets no new calls.
          #
          # @return [Boolean] whether state that may be read without the lock has changed
          def maintain(now)
            synchronize do
              read_pending(now) if nobody_reads?
              @session.reset_idle_frame_count
              check_silence(now)
              wake_new_leader
              take_state_change
            end
          end

          # Accepts no more calls; those in progress continue.
          def retire
            synchronize do
              @retired = true
              refresh
            end
          end

          # Sends GOAWAY, as far as possible without waiting.
          def send_goaway
            synchronize do
              next if @dead

              @session.submit_goaway
              write(Ruby.now)
            end
          end

          # ---- within a step ----

          # Reads once. @return [Boolean] whether bytes arrived
          def read_once(now)
            return false if @dead

            came = @io.read(READ_BYTES, @buffer ||= String.new)
            @wants_read = came == :wait_writable ? :write : :read
            @unread = came.is_a?(String)
            if @unread
              take(came, now)
              return @session.fault.nil?
            end

            fail_connection(Failure.new(:CLOSED)) if came.nil?
            false
          rescue Failure => error
            fail_connection(error)
            false
          end

          # Writes the session's output, as far as possible without waiting.
          def write(now)
            @wants_write = nil
            any = false
            until @dead || @write_broken || (bytes = @session.output).empty?
              count = @io.write(bytes)
              break @wants_write = count == :wait_readable ? :read : :write if count.is_a?(Symbol)

              @session.wrote(count)
              any = true
            end
            output_written if any
          rescue Failure => error
            write_failed(error, now)
          end

          # @return [:none, :partial, :all] how much of the request the server can have received, or will receive: bytes
          #   that are composed are written later, even for a stream that is reset by then
          def sent(stream)
            return :none if stream.nil?
            return stream.request_ends ? :all : :partial unless @dead || @write_broken
            return :all if @session.written?(stream)

            @session.unwritten?(stream) && !@io.partial_record? ? :none : :partial
          end

          # @return [Boolean] whether state that may be read without the lock has changed since the last call
          def take_state_change = @state_changed.tap { @state_changed = false }

          private

          def take(bytes, now)
            @received_at = now
            @any_input = true
            @pinged_at = nil
            @session.input(bytes)
            return fail_with_goaway(now) if @session.fault

            note_changed_streams
            refresh
          end

          # Called when the server has violated the protocol: sends GOAWAY, as far as possible.
          def fail_with_goaway(now)
            note_changed_streams
            @closing = true
            write(now)
            fail_connection(Failure.new(@session.fault, @session.detail)) unless @dead
          end

          # Responses, or a GOAWAY with the reason, may still be readable after a write has failed.
          def write_failed(error, now)
            @write_broken = true
            @wants_write = nil
            @session.drop_output
            nil while read_once(now)
            fail_connection(error) unless @dead
          end

          # The shutdown makes the socket readable, which wakes a leader that waits for it.
          def fail_connection(why)
            @dead = true
            @why = why
            @unread = false
            @wants_write = nil
            @session.end_with(why.code)
            @session.drop_output
            note_changed_streams
            refresh
            @socket.shutdown(Socket::SHUT_RDWR)
          rescue SystemCallError, IOError
            nil
          end

          def output_written
            note_sent
            note_changed_streams
            refresh
          end

          def note_sent
            return if @sending.empty?

            now = Ruby.now
            @sending.reject! do |call|
              call.sent_at = now if call.stream && @session.written?(call.stream)
            end
          end

          def note_changed_streams
            while (call = @session.next_changed)
              call.note_input
            end
          end

          def refresh
            closing = @dead || @retired || @session.closing?
            most = @session.max_streams
            return if closing == @closing && most == @max_streams && (@any_received || !@any_input)

            @state_changed = true
            @max_streams = most
            @any_received = @any_input ? true : false
            @closing = closing
          end

          def read_pending(now)
            READS_AT_ONCE.times { break unless read_once(now) }
            write(now)
          end

          # Some servers count PINGs and close the connection of a client that sends many.
          def ping_if_silent(now)
            return if @dead || @pinged_at || now - @received_at < PING_AFTER

            @session.ping
            @pinged_at = now
            write(now)
          end

          # An idle connection is sent no PING; #usable? does that before its next use.
          def check_silence(now)
            if @pinged_at && now - @pinged_at >= PING_TIMEOUT then ping_failed(now)
            elsif @session.open_streams.positive? then ping_if_silent(now)
            end
          end

          # A busy server may still respond: calls in progress continue until their own timeouts, new calls get another
          # connection.
          def ping_failed(now)
            read_pending(now) # the acknowledgement may have arrived
            return if @dead || @pinged_at.nil?
            return fail_connection(Failure.new(:CLOSED, "the server no longer answers")) if @session.open_streams.zero?

            @session.submit_goaway
            write(now)
            refresh
          end
        end
      end
    end
  end
end
