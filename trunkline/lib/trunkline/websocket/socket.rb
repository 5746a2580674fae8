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
    # Pings are answered while it is read. A socket that nobody reads answers none.
    class Socket
      include Redacted

      # Seconds that #close waits for the server's answer.
      CLOSING = 5.0
      # For an end without a close frame, and for a close frame without a code (RFC 6455 7.1.5).
      ABNORMAL = 1006
      NO_CODE = 1005

      # @return [Response] the answer to the opening handshake (101; over HTTP/2: 2xx)
      attr_reader :response
      # @return [String, nil] the protocol that the server has chosen of protocols:
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
        @messages = Mutex.new # guards the framing, and the two that follow
        @over = false
        @users = 0 # of the connection's descriptor, which is closed when there are none
        @reading = Mutex.new
        @sending = Mutex.new
      end

      # Sends a message: as binary if the String's encoding is BINARY, as text otherwise.
      #
      # @param message [String]
      # @return [self]
      # @raise [ClosedError] when the socket is closed
      # @raise [InvalidRequest] for text that is not UTF-8
      # @raise [WriteTimeout] when the server takes no byte for longer than timeout: { write: }; the socket is closed
      # @raise [ConnectionError]
      def write(message)
        raise InvalidRequest.of("write", message, "a String") unless message.is_a?(String)

        send_frame { @framing.write(message) }
      end

      # @param timeout [Numeric, nil] seconds that the server may be silent, or nil without a limit; by itself the
      #   read: of timeout:
      # @return [String, nil] the next message: UTF-8 for text, BINARY otherwise; nil when the socket is closed
      # @raise [ReadTimeout] when nothing comes in time; the socket stays open
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

      # Sends a ping, which the server answers by itself; a reader does not see the answer.
      #
      # @param payload [String] at most 125 bytes
      # @return [self]
      # @raise (see #write)
      def ping(payload = "")
        send_frame { @framing.ping(payload) }
      end

      # Closes it: tells the server, and waits for its answer for at most 5 s. Messages that come meanwhile are dropped,
      # unless somebody reads them. Idempotent.
      #
      # @param code [Integer] 1000 to 1003, 1007 to 1014, or 3000 to 4999
      # @param reason [String] at most 123 bytes of UTF-8
      # @return [nil]
      # @raise [InvalidRequest]
      def close(code = 1000, reason = "")
        told = @messages.synchronize { @framing.close(code, reason) } unless closed?
        using { flush } if told
        using { wait_for_close }
      rescue ConnectionError, TimeoutError, InvalidResponse, ClosedError
        nil # it is closed in any case
      ensure
        abort if told
      end

      # @return [Boolean] whether no message can be sent any more
      def closed? = @over || @messages.synchronize { @framing.closed? }

      # @return [Integer, nil] why the server closed: its code; 1005 for none; 1006 when the connection just ended; nil
      #   while it is open
      def close_code
        return unless @over

        @framing.close_code || (@framing.closed? ? NO_CODE : ABNORMAL)
      end

      # @return [String, nil]
      def close_reason = @framing.close_reason

      # Ends the connection at once, without a word. Others that wait for the socket are woken.
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

      # A reader and a writer may wait at the same time.
      def waitable(io) = RUBY_ENGINE == "jruby" ? Engine::Ruby::IOOnJRuby.new(io) : io

      def refuse_closed
        raise ClosedError.new("#{name} is closed", request: @response.request, phase: :write, sent: :all)
      end

      # The descriptor is not closed, and so not another's, while somebody waits for it.
      def using
        counted = false # an interrupt may come before
        @messages.synchronize { @users += 1 and counted = true }
        yield
      ensure
        @messages.synchronize do
          @users -= 1 if counted
          @connection.close if @over && @users.zero?
        end
      end

      # Whatever ends the block early, an interrupt too, may have lost a part of a frame: then nothing can follow it.
      def or_abort(but: nil)
        whole = false
        yield.tap { whole = true }
      rescue *but
        whole = true
        raise
      ensure
        abort unless whole
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

      # @return [Boolean] whether there may be more
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
        flush_what_is_there
      end

      def check_fault
        fault = @framing.fault or return
        flush_what_is_there
        kind = fault.match?(/length|large|big/i) ? BodyTooLarge : InvalidResponse
        raise kind.about(@response, "sent what WebSocket does not allow: #{fault}")
      end

      # Waits for the connection, and for no longer than the time between two pings.
      def wait(what, limit)
        left = limit && (limit - now)
        if left && left <= 0
          @connection.rest
          raise_timeout(ReadTimeout, :read, "was silent for too long")
        end

        span = [left, @ping].compact.min
        return if what == :writable ? @io.wait_writable(span) : @io.wait_readable(span)

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

      def raise_timeout(kind, phase, what)
        raise kind.new("#{name} #{what}", request: @response.request, phase: phase, sent: :all)
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

      # Another that sends takes along what is there; so a message may leave later than #write returns, but in order.
      def flush
        @sending.synchronize { send_all }
        flush_what_is_there # that came while this one sent its last
      end

      # For the reader, which must go on reading while the server takes nothing.
      def flush_what_is_there
        return unless @sending.try_lock

        begin
          send_all
        ensure
          @sending.unlock
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
        while (what = @connection.flush)
          wait_to_send(what)
        end
      rescue IOError
        refuse_closed
      end

      def wait_to_send(what)
        seconds = [@timeouts.write, Deadline.left].compact.min
        return if what == :readable ? @io.wait_readable(seconds) : @io.wait_writable(seconds)

        raise_timeout(WriteTimeout, :write, "took no byte for #{seconds} s")
      end

      def raise_closed
        raise ConnectionClosed.new("#{name} was closed", request: @response.request, phase: :write, sent: :all)
      end

      # ---- closing ----

      # A reader in another thread takes the server's answer.
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
