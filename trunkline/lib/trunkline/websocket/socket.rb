# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "../redacted"
require_relative "../engine/ruby/io_on_jruby" if RUBY_ENGINE == "jruby"

module Trunkline
  module WebSocket
    # A connection on which both sides send messages (RFC 6455); Client#websocket opens it. One thread or fiber may read
    # while others write.
    #
    # The server's pings are answered only while a thread or fiber reads.
    class Socket
      include Redacted

      # Seconds that #close waits for the server's close frame.
      CLOSING = 5.0
      # The close_code of an end without a close frame, and of a close frame without a code (RFC 6455 7.1.5).
      ABNORMAL = 1006
      NO_CODE = 1005

      # @return [Response] the response to the opening handshake (101; over HTTP/2: 2xx)
      attr_reader :response
      # @return [String, nil] the protocol that the server has chosen from protocols:
      attr_reader :protocol

      # @api private
      # @param response [Response] of status 101
      # @param connection [Engine::Switched]
      # @param framing [Framing]
      # @param timeouts [Timeouts]
      # @param ping [Float, nil] seconds
      def initialize(response, connection, framing, timeouts, ping)
        @response = response
        @connection = connection
        @io = waitable(IO.for_fd(connection.descriptor, autoclose: false))
        @framing = framing
        @timeouts = timeouts
        @ping = ping
        @protocol = response["sec-websocket-protocol"]
        @messages = Mutex.new # guards @framing, @over and @users
        @over = false
        @users = 0 # calls that use the connection's descriptor, which is closed when there are none
        @reading = Mutex.new
        @sending = Mutex.new
      end

      # Sends a message: as binary if the String's encoding is BINARY, as text otherwise.
      #
      # @param message [String]
      # @return [self]
      # @raise [ClosedError] when the socket is closed
      # @raise [InvalidRequest] for text that is not UTF-8
      # @raise [WriteTimeout] when the server accepts no byte for longer than timeout: { write: }; the socket is closed
      # @raise [ConnectionError]
      def write(message)
        raise InvalidRequest.of("write", message, "a String") unless message.is_a?(String)

        send_frame { @framing.write(message) }
      end

      # @param timeout [Numeric, nil] seconds to wait for a message; nil for no limit. The default is read: of timeout:
      # @return [String, nil] the next message: UTF-8 for text, BINARY otherwise; nil when the socket is closed
      # @raise [ReadTimeout] when no message arrives in time; the socket stays open
      # @raise [InvalidResponse] when the server breaks the protocol; the socket is closed
      # @raise [BodyTooLarge] for a message larger than max_message_bytes:; the socket is closed
      # @raise [ConnectionError]
      def read(timeout: @timeouts.read)
        using { @reading.synchronize { next_message(timeout) } }
      end

      # @yield [message] until the socket is closed
      # @return [self, Enumerator]
      def each
        return enum_for(:each) unless block_given?

        while (message = read)
          yield message
        end
        self
      end

      # Sends a ping. The server answers it automatically; #read does not return the answer.
      #
      # @param payload [String] at most 125 bytes
      # @return [self]
      # @raise (see #write)
      def ping(payload = "")
        send_frame { @framing.ping(payload) }
      end

      # Closes the WebSocket: sends a close frame, and waits at most 5 s for the server's close frame. Messages that
      # arrive meanwhile are dropped, unless another thread or fiber reads them. Idempotent.
      #
      # @param code [Integer] 1000 to 1003, 1007 to 1014, or 3000 to 4999
      # @param reason [String] at most 123 bytes of UTF-8
      # @return [nil]
      # @raise [InvalidRequest]
      def close(code = 1000, reason = "")
        close_framed = @messages.synchronize { @framing.close(code, reason) } unless closed?
        using { flush } if close_framed
        using { wait_for_close }
      rescue ConnectionError, TimeoutError, InvalidResponse, ClosedError
        nil # the WebSocket is closed in any case
      ensure
        abort if close_framed
      end

      # @return [Boolean] whether no message can be sent any more
      def closed? = @over || @messages.synchronize { @framing.closed? }

      # @return [Integer, nil] the code in the server's close frame; 1005 if it had none; 1006 if the connection ended
      #   without a close frame; nil while the WebSocket is open
      def close_code
        return unless @over

        @framing.close_code || (@framing.closed? ? NO_CODE : ABNORMAL)
      end

      # @return [String, nil]
      def close_reason = @framing.close_reason

      # Closes the connection at once, without a close frame. Threads and fibers that wait for the socket are woken up.
      #
      # @return [nil]
      def abort
        @messages.synchronize do
          @over = true
          @connection.shutdown
          @connection.close if @users.zero?
        end
        nil
      end

      private

      # JRuby needs a wrapper, so that a reader and a writer can wait at the same time.
      def waitable(io) = RUBY_ENGINE == "jruby" ? Engine::Ruby::IOOnJRuby.new(io) : io

      def refuse_closed
        raise ClosedError.new("#{name} is closed", request: @response.request, phase: :write, sent: :all)
      end

      # Keeps the descriptor open while a thread or fiber waits for it: its number could be reused after it is closed.
      def using
        counted = false # an interrupt may arrive before @users is incremented
        @messages.synchronize { @users += 1 and counted = true }
        yield
      ensure
        @messages.synchronize do
          @users -= 1 if counted
          @connection.close if @over && @users.zero?
        end
      end

      # Closes the connection if the block ends early, even by an interrupt: part of a frame may be lost, so the
      # following bytes could not be parsed.
      def or_abort(but: nil)
        completed = false
        yield.tap { completed = true }
      rescue *but
        completed = true
        raise
      ensure
        abort unless completed
      end

      def name = "the WebSocket #{@response.request.uri.path} at #{@response.request.uri.label}"

      # ---- reading ----

      def next_message(timeout)
        limit = limit_of(timeout)
        or_abort(but: ReadTimeout) do
          until (message = @messages.synchronize { @framing.read })
            break abort if @over

            check_fault
            break abort unless more?(limit)
          end
          message
        end
      end

      # @return [Boolean] whether more bytes may arrive
      def more?(limit)
        return false if @messages.synchronize { @framing.closed? }

        bytes = @connection.read
        case bytes
        when String then take(bytes)
        when nil then return false
        else wait(bytes, limit)
        end
        true
      end

      def take(bytes)
        @pinged = false
        @messages.synchronize { @framing << bytes }
        flush_without_waiting
      end

      def check_fault
        fault = @framing.fault or return
        flush_without_waiting
        kind = fault.match?(/length|large|big/i) ? BodyTooLarge : InvalidResponse
        raise kind.about(@response, "sent what WebSocket does not allow: #{fault}")
      end

      # Waits until the connection is ready, for at most the time between two pings.
      def wait(readiness, limit)
        left = limit && (limit - now)
        if left && left <= 0
          @connection.rest
          raise_timeout(ReadTimeout, :read, "was silent for too long")
        end

        span = [left, @ping].compact.min
        return if readiness == :writable ? @io.wait_writable(span) : @io.wait_readable(span)

        keep_alive if @ping && (left.nil? || @ping < left)
      end

      def keep_alive
        if @pinged
          abort
          raise_timeout(ReadTimeout, :read, "answered no ping within #{@ping} s")
        end
        @pinged = true
        ping
      end

      def limit_of(timeout)
        deadline = Deadline.current
        [timeout && (now + timeout), deadline].compact.min
      end

      def raise_timeout(kind, phase, message)
        raise kind.new("#{name} #{message}", request: @response.request, phase: phase, sent: :all)
      end

      # ---- sending ----

      # @yieldreturn [Boolean] whether there is a frame to send
      def send_frame(&frame)
        using do
          or_abort(but: [InvalidRequest, ClosedError]) do
            @messages.synchronize(&frame) or refuse_closed
            flush
          end
        end
        self
      end

      # The thread that holds @sending sends the output of all threads, in the order in which it was framed.
      def flush
        @sending.synchronize { send_all }
        flush_without_waiting # output of a reader that found @sending locked
      end

      # Does not wait for another sender: the reader must continue to read while the server accepts no bytes. Repeated
      # for output that another thread framed while this one held @sending.
      def flush_without_waiting
        while @messages.synchronize { @framing.output? } && @sending.try_lock
          begin
            send_all
          ensure
            @sending.unlock
          end
        end
      end

      def send_all
        or_abort do
          until (bytes = @messages.synchronize { @framing.take_output }).empty?
            send_bytes(bytes)
          end
        end
      end

      def send_bytes(bytes)
        from = 0
        while from < bytes.bytesize
          sent = @connection.write(bytes, from)
          case sent
          when Integer then from += sent
          when nil then raise_closed
          else wait_to_send(sent)
          end
        end
        while (readiness = @connection.flush)
          wait_to_send(readiness)
        end
      rescue IOError
        refuse_closed
      end

      def wait_to_send(readiness)
        seconds = [@timeouts.write, Deadline.left].compact.min
        return if readiness == :readable ? @io.wait_readable(seconds) : @io.wait_writable(seconds)

        raise_timeout(WriteTimeout, :write, "took no byte for #{seconds} s")
      end

      def raise_closed
        raise ConnectionClosed.new("#{name} was closed", request: @response.request, phase: :write, sent: :all)
      end

      # ---- closing ----

      # If another thread is reading, it receives the server's close frame.
      def wait_for_close
        limit = now + CLOSING
        until @over || now > limit
          next sleep(0.005) unless @reading.try_lock

          begin
            nil while next_message(limit - now)
          ensure
            @reading.unlock if @reading.owned?
          end
        end
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
