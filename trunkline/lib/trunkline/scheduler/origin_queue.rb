# frozen_string_literal: true

require_relative "../limiter"
require_relative "../limiter/memory"
require_relative "../redacted"
require_relative "../retry_after"

module Trunkline
  class Scheduler
    # The requests to one origin: those that wait, how many are in flight, and how many may be, which its Limiter says.
    # A number that the caller asked for needs no Limiter before the origin refuses a request; no limit never needs one.
    class OriginQueue
      include Redacted

      MEMORY = Limiter::Memory.new
      # A host that does not answer at all keeps at least so many slots: fewer would only take longer.
      FEWEST_AT_TIMEOUTS = 4
      # When no request to an origin has ended for so many seconds, requests to other origins are looked for.
      STALL = 0.25

      # @return [Array<PendingRequest>] in the order in which they start
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

      # @return [Integer] how many may be in flight
      def limit = @fixed || @limiter.limit

      # @return [Boolean] whether no request waits or is in flight
      def empty? = @waiting.empty? && @in_flight.zero?

      # Lets none start before a moment: a rate limit's.
      # @param moment [Float] monotonic seconds
      def hold_until(moment)
        @held_until = moment
      end

      # @return [Boolean] whether one more may start
      def ready?(now)
        return false if @held_until && held?(now)

        @limiter ? @limiter.ready?(now) : @in_flight < @fixed
      end

      # @return [Boolean] whether a request that does not wait yet may start: those that do, whose moment may just have
      #   come, go before it
      def room?(now) = @waiting.empty? && ready?(now)

      # @return [Boolean] whether no request has ended for so long that other origins should have their turn
      def stalled?(now)
        now - @last_end > STALL
      end

      # @return [Float, nil] seconds until one more may start; nil: when a request has ended
      def wait(now)
        seconds = @limiter ? @limiter.wait(now) : (0.0 if @in_flight < @fixed)
        seconds && @held_until && held?(now) ? [seconds, @held_until - now].max : seconds
      end

      # Counts a request that starts, and notes in it what #ended needs.
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

      # Counts a request that ended, and tells the Limiter how.
      # @param pending [PendingRequest]
      # @param result [Response, Exception]
      # @param status [Integer, nil] the Response's
      def ended(pending, result, status, now)
        @last_end = now
        @in_flight -= 1
        return if @limiter.nil? && ((status && status < 429) || !refused?(result, status))

        @limiter ||= Limiter.new(now, fixed: @fixed, in_flight: @in_flight + 1)
        inform_limiter(pending, result, status, now)
      end

      # Of a streamed answer the head is there: its body, which may come for hours, takes no place of those that :auto
      # allows to be in flight. A number that the caller gave holds until its end.
      # @param pending [PendingRequest]
      # @param response [Response]
      def answered(pending, response, now)
        return if @fixed

        ended(pending, response, response.status, now)
        pending.queue = nil
      end

      # Keeps what the Limiter has found out for the next queue to this origin.
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

      # @return [Boolean] whether a fixed number needs a Limiter from now on
      def refused?(result, status)
        return false if @fixed == Float::INFINITY || result.nil? # nil: a streamed one has ended

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
        what && @limiter.limit > FEWEST_AT_TIMEOUTS ? @limiter.on_overload(now, what) : @limiter.on_ignore
      end
    end
  end
end
