# frozen_string_literal: true

require_relative "attempts"
require_relative "dialling"
require_relative "http2/stream_exchange"
require_relative "pool"
require_relative "receiving"
require_relative "sending"
require_relative "switching"
require_relative "timings"
require_relative "used_connection"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # One request and its response: a state machine that never waits. #step continues it as far as possible, and
      # returns the next action; #sockets, #events and #due describe what to wait for. The thread or fiber that drives
      # it has exclusive use of its connection.
      #
      # #step returns
      #   :wait         see #sockets, #events and #due, or its waker
      #   :body_wanted  call #feed, then step again
      #   :hints        a 103 arrived: see #early_hints; step again
      #   :progress     call #progress, then step again
      #   :head         the head of a streamed response arrived; step again for the body
      #   :data         #take_body has bytes of a streamed response; step again
      #   :collect      the exchange waits for a connection while callers hold streamed responses; step again
      #   :done         complete; the connection is back in the pool, or closed
      #   :failed       see #why; the connection is closed
      class Exchange
        include Redacted

        include Attempts
        include Dialling
        include HTTP2::StreamExchange
        include Receiving
        include Sending
        include Switching

        # Seconds by which a connection is closed before the server's Keep-Alive timeout.
        KEEP_ALIVE_MARGIN = 1.0
        # Seconds that an exchange waits for a connection before dropped responses are collected.
        COLLECT_AFTER = 0.2
        private_constant :KEEP_ALIVE_MARGIN, :COLLECT_AFTER

        attr_reader :request, :state, :why, :connection, :phase, :timings, :waits_since
        # @return [Float, nil] monotonic seconds; nil: its first step has not begun
        attr_reader :began
        # The limit that was exceeded, when `why` is a timeout.
        attr_reader :allowed
        # @return [UsedConnection, nil] nil: the exchange has had no connection
        attr_reader :used

        # @param deadline [Float, nil] monotonic seconds
        # @param waker [Waker, IOWaker, nil] nil: the exchange creates its own when needed
        def initialize(pool, request, deadline, waker, only_connects: false)
          @pool = pool
          @request = request
          @origin = request.origin
          @config = @origin.config
          @waker = waker
          @only_connects = only_connects
          @pid = Ruby.pid
          @state = :start
          @streaming = request.streaming?
          @attempts = []
          @timings = Timings.new
          @total_deadline = deadline || Ruby::NEVER
          @phase = :queue
          prepare_sending
          prepare_receiving
        end

        # Given up when the exchange ends: a response keeps its exchange, but not the descriptors of its Multi.
        def waker = @waker ||= Waker.new

        def streaming? = @streaming

        def ended? = @state == :done || @state == :failed

        # @return [Symbol] see above. The caller has deferred interrupts
        def step
          now = Ruby.now
          return fail_with(Failure.new(:FORKED)) if @pid != Ruby.pid && !ended?

          resume(now)
          late = write_is_late?(now) && check_timeouts(now)
          return late if late

          result = steps(now)
          result = late_result(now) || result unless ended?
          @resumed = result != :wait && result != :collect
          result
        rescue Failure => error
          fail_with(error)
        end

        # @return [Array<IO>, IO, nil] to poll for #events; nil: only the waker
        def sockets
          case @state
          when :talking then @call ? socket_of_leader : @connection.io.socket
          when :dialling then @dial.sockets
          end
        end

        # @return [Symbol] :read, :write or :both
        def events
          return @dial.events if @state == :dialling

          @call ? @call.events : @events
        end

        # @return [Float] when to step even without an event; 0.0: at once
        def due
          return 0.0 if @again

          due = @deadline
          case @state
          when :dialling then due = @dial.due
          when :queued then due = [due, @collect_at, @ticket.sharing_wait_deadline].min
          when :talking
            due = continue_deadline if @awaits_continue && continue_deadline < due
            due = @http2.wake_at if @call && @http2.wake_at < due
          end
          due = @total_deadline if @total_deadline < due # faster than Array#min on JRuby
          due
        end

        # @return [Boolean] whether its waker may have been woken for this exchange
        def needs_step?
          case @state
          when :queued then @ticket.turn_due
          when :dialling then @dial.resolving?
          when :talking then @call&.has_input
          end
        end

        # @return [Boolean] whether #abort has nothing to do
        def settled? = ended? && @connection.nil?

        # (see Connection#drop)
        def drop
          @connection&.drop if @pid == Ruby.pid
        end

        # Ends the exchange, and closes its connection, unless it has ended already.
        def abort
          drop_switched if @state == :done && @connection
          fail_with(Failure.new(:CANCELLED)) unless ended?
        end

        # Limits the rest of the exchange to this many seconds.
        def limit_to(seconds)
          limit = Ruby.now + seconds
          @total_deadline = limit if limit < @total_deadline
        end

        # @return [Pool]
        attr_reader :pool

        private

        # After a return to the caller, the timeout of the phase starts anew. When the wait for a 100 is over, the body
        # is sent without it (RFC 9110 10.1.1).
        def resume(now)
          if @resumed
            @resumed = false
            enter(@phase, now)
          end
          return unless @awaits_continue && @state == :talking && now >= continue_deadline

          @awaits_continue = false
          enter(:write, now)
        end

        # Runs the states until one returns a result other than :wait, or waits without a change of state.
        def steps(now)
          result = before = nil
          until result && (result != :wait || @state == before)
            before = @state
            result = case before
                     when :talking then talk(now)
                     when :start then step_start(now)
                     when :queued then step_queued(now)
                     when :dialling then step_dialling(now)
                     else before
                     end
          end
          result
        end

        def enter(phase, now)
          @phase = phase
          limit = @config.timeouts[phase]
          @deadline = limit == NEVER ? NEVER : now + limit # adding would create an object
        end

        # ---- ends ----

        def fail_with(failure)
          failure.phase ||= @phase
          @why = failure
          @phase = failure.phase
          stop_http2 if @call && @pid == Ruby.pid
          record_outcome(failure)
          @timings.total = @began ? Ruby.now - @began : 0.0
          @state = :failed
          @dial&.close
          @dial = nil
          @pool.cancel(@ticket) if @ticket && @pid == Ruby.pid
          drop_connection if @connection
          @waker = nil
          :failed
        end

        def drop_connection
          if @pid != Ruby.pid then @connection = @call = nil
          elsif @call then leave_http2(idle_until(@connection, Ruby.now))
          else
            @pool.discard(@connection, false)
            @connection = nil
          end
        end

        def finish
          now = Ruby.now
          record_outcome(nil)
          @timings.total = now - @began
          @state = :done
          return_connection(now) unless switched?
          @waker = nil
          :done
        end

        def return_connection(now)
          return leave_http2(idle_until(@connection, now)) if @call

          connection = @connection
          @connection = nil
          complete = @request_done && !@request_cut && input_empty?
          reusable = complete && @head.persistent? && !@framing.tolerated && !@request._sends_close?
          if reusable
            @pool.checkin(connection, now, idle_until(connection, now))
          else
            @pool.discard(connection, true)
          end
        end

        # Returns until when the connection may stay idle: it must be closed before the server's Keep-Alive timeout.
        def idle_until(connection, now)
          until_then = now + @config.idle_timeout
          due = connection.due(@config.max_age)
          until_then = due if due < until_then
          seconds = @head ? @head.keep_alive_timeout : -1
          return until_then if seconds.negative?

          [until_then, now + seconds - KEEP_ALIVE_MARGIN].min
        end

        # ---- a connection ----

        # Timeouts begin here: the driver may have been busy since the exchange was created.
        def step_start(now)
          @began = now
          enter(:queue, now)
          @total_deadline = [@total_deadline, now + @config.total].min
          begin_attempt(:first)
          @config.egress&.check_route(@origin)
          @ticket = Pool::Ticket.new(self, @config.max_connections, @origin.may_share?)
          handle_pool_result(@pool.acquire(@ticket, @origin.key, now), now)
        end

        # Continues with the pool's result. A connection is checked before it is used, and replaced when it is dead or
        # too old.
        def handle_pool_result(result, now)
          result = next_connection(result, now) until result.is_a?(Symbol) || usable?(result, now)
          case result
          when :dial then start_dialling(now)
          when :wait then wait_for_turn(now)
          when :closed then raise Failure, :POOL_CLOSED
          else use_connection(result, now)
          end
        end

        def usable?(connection, now)
          young = now < connection.due(@config.max_age)
          connection.http2&.retire unless young
          young && connection.alive?
        end

        def next_connection(connection, now)
          return @pool.replace(@ticket, connection, false) unless connection.http2

          @pool.reconsider(connection)
          @pool.leave(connection, now)
          @pool.acquire(@ticket, @origin.key, now)
        end

        def wait_for_turn(now)
          @state = :queued
          begin_wait(now)
          :wait
        end

        def begin_wait(now)
          @waits_since = now
          @collect_at = now + COLLECT_AFTER
        end

        def step_queued(now)
          result = @pool.turn(@ticket)
          if result != :wait
            @timings.queue = now - @began
            return handle_pool_result(result, now)
          end
          wants_collection?(now) ? :collect : :wait
        end

        # Returns true at most once per wait, and only while a caller holds a streamed response.
        def wants_collection?(now)
          return false if now < @collect_at

          wants = Dropped.any_held_by_caller?
          @collect_at = wants ? NEVER : now + COLLECT_AFTER
          wants
        end

        def use_connection(connection, now)
          @connection = connection
          @http2 = connection.http2 && (@http2 || HTTP2::ExchangeState.new)
          @used = UsedConnection.new(connection, @state != :dialling, now)
          current_attempt.address = connection.address
          @timings.queue ||= 0.0
          @state = :talking
          @again = false
          begin_receiving
          begin_sending(now)
          begin_http2 if @http2
          @only_connects ? finish_connect_only(now) : :wait
        end

        # A connection that was idle keeps its expiry, because the server has received nothing on it.
        def finish_connect_only(now)
          connection = @connection
          @timings.total = now - @began
          @state = :done
          until_then = idle_until(connection, now)
          before = connection.idle_until
          until_then = before if @used.reused && before.positive? && before < until_then
          return leave_http2(until_then) && :done if @call

          @connection = nil
          @pool.checkin(connection, now, until_then)
          :done
        end

        # ---- talking ----

        def talk(now)
          return :progress if @progress_due

          result = @call ? talk_http2(now) : exchange_bytes(now)
          return finish if result == :done && @http2 && @state == :talking

          result == :wait && @progress_due ? :progress : result
        rescue Failure => error
          fail_or_resend(error, now)
        end

        def exchange_bytes(now)
          @again = false
          sending = send_some(now) unless @request_done
          if @poll_first
            @poll_first = false
            unless @connection.io.pending?
              @events = :read
              return :wait
            end
          end
          receive_beside(sending, now)
        end

        def receive_beside(sending, now)
          held_back = @awaits_continue
          result = receive(now)
          if result == :done
            cut_request(now) unless @request_done
            return finish
          end
          return :body_wanted if result == :wait && @piece_wanted

          @again = true if held_back && !@awaits_continue
          @events = :both if sending == :wait_writable && still_sending?(result)
          result
        end

        def still_sending?(result) = result == :wait && !@request_done && @events == :read

        # ---- time ----

        def continue_deadline
          @http2 || @segment_sent == @segment.bytesize ? @sending_began + @config.expect : NEVER
        end

        # The socket accepted nothing until the deadline: a write that succeeds only now is too late.
        def write_is_late?(now)
          @state == :talking && @phase == :write && !@http2 && @events != :read && now >= @deadline
        end

        def late_result(now)
          check_timeouts(now) if now >= @deadline || now >= @total_deadline
        end

        def check_timeouts(now)
          if now >= @total_deadline
            @allowed = @total_deadline - @began
            return fail_with(Failure.new(:TOTAL_TIMEOUT))
          end
          return if @state == :dialling || now < @deadline

          @allowed = @config.timeouts[@phase]
          why = @state == :queued ? @pool.why_waiting(@ticket) : why_no_stream
          fail_with(Failure.new(TIMEOUT_CODES[@phase], why))
        end
      end
    end
  end
end
