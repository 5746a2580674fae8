# frozen_string_literal: true

require_relative "../limiter"
require_relative "../limiter/memory"
require_relative "../redacted"
require_relative "../retry_after"

module Trunkline
  class Scheduler
    # The requests to one origin: those that wait, and the number and limit of those in flight. The Limiter sets the
    # limit. A fixed limit needs no Limiter until the origin refuses a request; an infinite limit never needs one.
    class OriginQueue
      include Redacted

      MEMORY = Limiter::Memory.new
      # Minimum of slots for a host that does not respond at all: with fewer, the requests would only take longer.
      FEWEST_AT_TIMEOUTS = 4
      # When no request to an origin has ended for this many seconds, the caller is asked for requests to other origins.
      STALL = 0.25

      # @return [Array<PendingRequest>] waiting requests, in the order in which they start
      attr_reader :waiting
      # @return [Integer] requests in flight
      attr_reader :in_flight

      # @param origin [String]
      # @param options [BatchOptions]
      # @param now [Float] monotonic seconds
      def initialize(origin, options, now)
        @origin = origin
        @waiting = []
        @in_flight = 0
        @last_end = now
        @options = options
        @fixed = options.concurrency unless options.concurrency == :auto
        @limiter = @held_until = nil
        return if @fixed

        @limiter = adaptive_limiter(now)
        @remembered = @limiter.generation
      end

      # @return [Integer] maximum of requests in flight
      def limit = @fixed || @limiter.limit

      # @return [Boolean] whether no request waits or is in flight
      def empty? = @waiting.empty? && @in_flight.zero?

      # Prevents starts before a time, which a rate limit sets.
      # @param moment [Float] monotonic seconds
      def hold_until(moment)
        @held_until = moment
      end

      # @return [Boolean] whether one more request may start
      def ready?(now)
        return false if @held_until && held?(now)

        @limiter ? @limiter.ready?(now) : @in_flight < @fixed
      end

      # @return [Boolean] whether a new request may start: requests that wait start first, and one of them may just have
      #   become ready
      def room?(now) = @waiting.empty? && ready?(now)

      # @return [Boolean] whether no request has ended for so long that requests to other origins may start
      def stalled?(now)
        now - @last_end > STALL
      end

      # @return [Float, nil] seconds until one more request may start; nil: a request must end first
      def wait(now)
        seconds = @limiter ? @limiter.wait(now) : (0.0 if @in_flight < @fixed)
        seconds && @held_until && held?(now) ? [seconds, @held_until - now].max : seconds
      end

      # Counts a request that starts, and stores in it the values that #ended needs.
      # @param pending [PendingRequest]
      def start(pending, now)
        @in_flight += 1
        pending.queue = self
        pending.started = now
        pending.generation = @limiter.start(now) if @limiter
      end

      # Counts a request that was cancelled.
      def cancel
        @in_flight -= 1
        @limiter&.on_ignore
      end

      # Counts a request that ended, and passes its outcome to the Limiter.
      # @param pending [PendingRequest]
      # @param result [Response, Exception]
      # @param status [Integer, nil] the status of the Response
      def ended(pending, result, status, now)
        @last_end = now
        @in_flight -= 1
        return if @limiter.nil? && ((status && status < 429) || !refused?(result, status))

        @limiter ||= Limiter.new(now, fixed: @fixed, in_flight: @in_flight + 1)
        inform_limiter(pending, result, status, now)
      end

      # The head of a streamed response has arrived. Its body may take hours, so with :auto the request no longer counts
      # as in flight; with a fixed limit it counts until its end.
      # @param pending [PendingRequest]
      # @param response [Response]
      def head_arrived(pending, response, now)
        return if @fixed

        ended(pending, response, response.status, now)
        pending.queue = nil
      end

      # Stores the Limiter's findings for the next queue to this origin.
      def remember(now)
        return if @fixed

        @remembered = @limiter.generation
        MEMORY.keep(@origin, @limiter.to_h, now)
      end

      private

      def held?(now)
        return true if now < @held_until

        @held_until = nil
        false
      end

      def adaptive_limiter(now)
        facts = MEMORY.recall(@origin, now)
        Limiter.new(now, maximum: @options.maximum, remembered: facts && facts[:limit], rate: facts && facts[:rate])
      end

      # @return [Boolean] whether a fixed limit needs a Limiter from now on
      def refused?(result, status)
        return false if @fixed == Float::INFINITY || result.nil? # nil: a streamed response has ended

        status.nil? || status == 429 || status == 503
      end

      def inform_limiter(pending, result, status, now)
        case status
        when nil then inform_of_error(result, now)
        when 429 then @limiter.on_rate_limit(now, RetryAfter.seconds(result))
        when 503 then @limiter.on_overload(now, "503", RetryAfter.seconds(result))
        else @limiter.on_success(now, pending.started, pending.generation)
        end
        return if @fixed || pending.generation <= @remembered

        remember(now)
        @limiter.maximum = @options.maximum_of_streams if status && result.http_version == "2"
      end

      def inform_of_error(error, now)
        what = case error
               when QueueTimeout then nil
               when ConnectError then "no connection"
               when TimeoutError then "a timeout"
               end
        return @limiter.on_ignore unless what && @limiter.limit > FEWEST_AT_TIMEOUTS

        @limiter.on_overload(now, what, least: FEWEST_AT_TIMEOUTS)
      end
    end
  end
end
