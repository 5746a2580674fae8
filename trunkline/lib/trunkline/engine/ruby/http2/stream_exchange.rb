# frozen_string_literal: true

require_relative "connection"
require_relative "head"
require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # State of an Exchange that concerns its stream. It is a separate object because JRuby keeps fifty variables of
        # an object in fields, and the others in a table that is slow to write to.
        class ExchangeState
          include Redacted

          # When to step even without an event; whether all of the request's body was fed; whether the exchange leaves
          # the connection, and whether it does because no further stream can be opened; how much of the request the
          # server has, and whether it has not processed it; whether the stream is released.
          attr_accessor :wake_at, :body_ended, :needs_other_connection, :no_stream_free, :sent_so_far, :unprocessed,
                        :stream_released
        end

        # The part of Exchange that uses a stream of a shared connection, as Sending and Receiving do for HTTP/1.1.
        module StreamExchange
          # Maximum of reads in one step, which holds the connection's lock.
          READS_AT_ONCE = 32
          # Maximum of bytes of a request's body that are fed at once, and of a response that are taken at once.
          PIECE = 64 * 1024
          # Seconds between two attempts to open a stream.
          STREAM_RETRY = 0.005
          # Seconds after which a fiber that waits for the socket steps again, since it cannot be woken.
          FIBER_POLL_INTERVAL = 0.05
          private_constant :READS_AT_ONCE, :PIECE, :STREAM_RETRY, :FIBER_POLL_INTERVAL

          # @return [Boolean] whether it has a stream on a shared connection
          def shared? = !@call.nil?

          # Called when the driver stops driving until the next step: another call must lead.
          def depart
            return unless @call && @state == :talking

            connection = @call.connection
            connection.synchronize { connection.wake_new_leader }
          end

          private

          def begin_http2
            @call = Call.new(@connection.http2, waker)
            @http2.unprocessed = @http2.body_ended = @http2.needs_other_connection = false
            @http2.sent_so_far = :none
            @http2.wake_at = NEVER
            @body_queued = @request.content_length.zero? || !@body.nil?
            next_segment(@body ? @body.b : "")
            @http2.stream_released = false
          end

          # @return [IO, nil] the socket to wait for; nil: only the waker
          def socket_of_leader = @call.leading ? @call.connection.socket : nil

          # ---- a step ----

          def talk_http2(now)
            result = @call.connection.synchronize { step_http2(now) }
            report_state_change
            return result unless @http2.needs_other_connection

            @http2.needs_other_connection = false
            waiting = [@phase, @deadline]
            leave_and_acquire(now).tap { @phase, @deadline = waiting if @state == :talking }
          end

          def step_http2(now)
            connection = @call.connection
            connection.enter(@call)
            @call.fiber_driven = !Ruby.scheduler.nil? && !@call.waker.respond_to?(:io)
            @again = false
            result = advance_or_open(now)
            return end_step_switched(now) if result == :done && switched?
            return end_call(result, now) if result == :done || @http2.needs_other_connection

            flush(connection, now)
            result = :progress if result == :wait && @progress_due
            wait_on(connection, result, now)
            result
          rescue Failure
            end_call(:failed, now)
            raise
          end

          # Ends a step without ending the stream.
          def end_step_switched(now)
            note_sent
            @http2.sent_so_far = :all
            @call.connection.write(now)
            @call.connection.leave(@call, false)
            :done
          end

          def advance_or_open(now)
            fresh = @call.stream.nil?
            result = fresh ? open_stream(now) : :wait
            result == :wait && @call.stream ? read_and_advance(fresh, now) : result
          end

          # A request that the server has not processed counts as not sent, so that it may be sent again.
          def end_call(result, now)
            note_sent
            @http2.sent_so_far = @http2.unprocessed ? :none : @call.connection.sent(@call.stream)
            @http2.stream_released = true
            @call.connection.quit(@call, now)
            result
          end

          def flush(connection, now)
            @call.has_input = false
            connection.write(now)
            note_progress(now) if @call.stream
            note_sent
          end

          def wait_on(connection, result, now)
            @http2.wake_at = next_step_at(now)
            connection.leave(@call, result == :wait)
            @again = result == :wait && @call.again
            return unless result == :wait

            wake_by(now + Leading::WRITE_RETRY_INTERVAL) if connection.write_blocked? && !@call.leading
            wake_by(now + FIBER_POLL_INTERVAL) if @call.fiber_driven && @call.leading
          end

          def wake_by(time)
            @http2.wake_at = time if time < @http2.wake_at
          end

          # Another call may write the request's last frames at any time; then the first_byte timeout begins.
          def next_step_at(now)
            return @http2.wake_at if @call.stream.nil?

            @http2.body_ended && !@request_done ? now + @config.timeouts[:first_byte] : NEVER
          end

          def report_state_change
            @pool.reconsider(@connection) if @call&.connection&.take_state_change
          end

          # ---- opening ----

          # If the connection accepts no further stream, the exchange asks the pool for another one; if it gets the same
          # one again, it waits until a stream has ended. After :wait, @call.stream is set if a stream is open.
          def open_stream(now)
            return :wait if try_open_stream(now)

            if waits_for_settings?
              @http2.wake_at = now + STREAM_RETRY # another call may read them
              return :wait
            end
            return :wait if @http2.no_stream_free && read_for_room(now)

            @http2.needs_other_connection = @call.connection.closing? || !@http2.no_stream_free
            @http2.no_stream_free = true
            wait_for_room(now)
          end

          # @return [String] the limit that delays the stream, for a message
          def why_no_stream
            return "" unless @phase == :queue && Budget.used + Windows::NARROW > Budget.limit

            "as much of answers may lie unread as max_buffered_bytes allows the process"
          end

          def wait_for_room(now)
            unless @phase == :queue
              enter(:queue, now)
              begin_wait(now)
            end
            @http2.wake_at = now + STREAM_RETRY
            return :wait if @http2.needs_other_connection

            wants_collection?(now) ? :collect : :wait
          end

          def read_for_room(now)
            connection = @call.connection
            nil while connection.may_read?(@call) && connection.read(@call, now)
            try_open_stream(now)
          end

          def try_open_stream(now)
            return unless may_open?(now)

            @http2.body_ended = @request.content_length.zero? && !@request._upgrades?
            headers = RequestHeaders.new(@request._head, @origin.tls_name ? "https" : "http")
            stream = @call.connection.open(@call, headers, body: !@http2.body_ended, limits: @config.limits,
                                                           head_request: @request.method == "HEAD")
            return unless stream

            @http2.no_stream_free = false
            @sending_began = now
            enter(:write, now)
            true
          end

          # An extended CONNECT must wait for the server's SETTINGS (RFC 8441 3).
          def may_open?(now)
            return true unless @request._upgrades?

            connection = @call.connection
            nil while waits_for_settings? && connection.may_read?(@call) && connection.read(@call, now)
            support = connection.session.extended_connect
            raise described(Failure.new(:HTTP2_NO_CONNECT)) if support == :unsupported

            support == :supported
          end

          def waits_for_settings?
            connection = @call.connection
            @request._upgrades? && connection.session.extended_connect.nil? && !connection.closing?
          end

          # ---- the request ----

          # Feeds as much of the body as the stream wants; nothing before 100 (Continue) has arrived.
          def send_body
            stream = @call.stream
            while stream.wants_body && !@http2.body_ended && !@awaits_continue && !@piece_wanted
              if @segment_sent == @segment.bytesize && !@body_queued
                @piece_wanted = true
              else
                feed_piece(stream)
              end
            end
          end

          def feed_piece(stream)
            left = @segment.bytesize - @segment_sent
            count = [left, PIECE].min
            @http2.body_ended = @body_queued && count == left
            @call.connection.session.feed(stream, @segment.byteslice(@segment_sent, count), @http2.body_ended)
            @segment_sent += count
            @body_begun = true
          end

          def send_more(now)
            note_sent
            cut_request(now) if !@request_done && @call.stream.upload_stopped
            return if @request_done || @request._upgrades?

            note_progress(now)
            return if @piece_wanted

            check_fed
            send_body
          end

          def note_sent
            return if @request_done || @call.sent_at.nil? || @call.stream.nil?

            @request_done = true
            @body_sent = @call.stream.framed
            @progress_due = @reports_progress
            @sent_at = @call.sent_at
            @timings.write = @sent_at - @sending_began
            enter(:first_byte, @sent_at) unless @any_byte
          end

          # Framed bytes of the body are progress: the write timeout starts anew.
          def note_progress(now)
            return if @request_done

            stream = @call.stream
            written = @call.connection.session.body_written(stream)
            if written > @body_sent
              @body_sent = written
              @progress_due = @reports_progress && now >= @progress_at
            end
            return unless stream.framed > @sent_bytes

            @sent_bytes = stream.framed
            enter(:write, now)
          end

          # ---- the response ----

          # A stream that was just opened has no response yet, so no read is tried for it.
          def read_and_advance(fresh, now)
            result = advance(now)
            connection = @call.connection
            worthwhile = !fresh
            READS_AT_ONCE.times do
              break unless result == :wait && worthwhile && connection.may_read?(@call)

              worthwhile = connection.read(@call, now)
              result = advance(now)
            end
            return result unless result == :wait
            return :data if data?

            @piece_wanted ? :body_wanted : :wait
          end

          # Handles what has arrived for the stream, and sends more. @return [Symbol] :wait: more must be read
          def advance(now)
            stream = @call.stream
            result = take_heads(now)
            return :done if @head && switched?

            send_more(now) if result == :wait
            result = take_stream_data(now) if result == :wait && @head
            return result unless result == :wait
            return complete_stream if stream.ended && @head
            raise stream_failed(stream) if stream.fault

            :wait
          end

          def take_heads(now)
            while (section = @call.stream.heads.shift)
              result = take_section(section, now)
              return result unless result == :go_on
            end
            :wait
          end

          def take_section(section, now)
            first_byte(now) unless @any_byte
            @next_head = Head.new(section, bodiless?(section.status))
            return informational_head(@next_head, now) ? :hints : :go_on if section.status < 200

            enter(:read, now)
            @framing = Body.new
            accept_head(now)
          rescue Failure => error
            raise described(error)
          end

          def bodiless?(status)
            Framing.bodiless?(status, @request.method == "HEAD") ||
              (@request._upgrades? && status < 300)
          end

          def take_stream_data(now)
            stream = @call.stream
            loop do
              return :data if enough?
              next decode_more if @undecoded
              return :wait if stream.data.empty?

              take_piece(stream.shift_data(PIECE))
              enter(:read, now)
            end
          rescue Failure => error
            raise described(error)
          end

          def take_piece(bytes)
            @framing.consumed(bytes.bytesize)
            @call.connection.session.consumed(@call.stream, bytes.bytesize)
            deliver(bytes)
          end

          def complete_stream
            @framing.complete(@call.stream.trailers)
            @codings&.finish
            :done
          rescue Failure => error
            raise described(error)
          end

          # ---- failures ----

          NUMBERED = %i[HTTP2_RESET HTTP2_REFUSED HTTP2_GONE].freeze
          private_constant :NUMBERED

          def stream_failed(stream)
            fault = stream.fault
            why = @call.connection.why
            @http2.unprocessed = stream.unprocessed
            return described(cut_short(fault, why ? why.errno : 0)) if fault.start_with?("TRUNCATED")

            described(Failure.new(fault, words_of(stream, why), errno: why ? why.errno : 0))
          end

          def words_of(stream, why)
            if NUMBERED.include?(stream.fault)
              number = stream.error_number || 0
              word = Frame.error_word(number)
              "#{word} (#{number})#{"; ask with http: :h1" if word == "HTTP_1_1_REQUIRED"}"
            elsif why&.code == stream.fault then why.detail
            elsif stream.fault.start_with?("HTTP2_") then @call.connection.session.detail
            else ""
            end
          end

          # ---- ends ----

          # Ends the call in any state.
          def stop_http2
            return if @http2.stream_released

            connection = @call.connection
            connection.synchronize do
              connection.enter(@call)
              end_call(nil, Ruby.now)
            end
            report_state_change
          end

          def leave_http2(until_then)
            connection = @connection
            @connection = @call = nil
            @pool.leave(connection, until_then)
          end

          # Leaves the connection and asks the pool for another.
          def leave_and_acquire(now)
            leave_http2(idle_until(@connection, now))
            result = handle_pool_result(@pool.acquire(@ticket, @origin.key, now), now)
            @again = @state == :talking # no call reads the new connection for it yet
            result
          end
        end
      end
    end
  end
end
