# frozen_string_literal: true

require "trunkline"
require_relative "demand"

module Trunkline
  class Bulk
    class Limits
      # The share of this process in the limits of one origin: the granted request starts, spread over the interval, and
      # the requests in flight. It is the pace of a client's `rate: { store: }`. Thread-safe; no method blocks.
      #
      # @api private
      class Share
        BUSY = [429, 503].freeze
        # Seconds of pause after 429 without Retry-After.
        PAUSE = 1.0
        # The maximum seconds of a pause.
        LONGEST = 3600.0
        # Starts, and requests in flight, that are requested in addition when one was refused.
        FIRST = 8
        # Seconds until the next check for a grant.
        RECHECK = 0.02
        private_constant :BUSY, :FIRST, :LONGEST, :PAUSE, :RECHECK

        # @return [Float] monotonic seconds of the last use
        attr_reader :used_at

        def initialize(origin, per_second, max_in_flight)
          @origin = origin
          @per_second = per_second.to_f
          @max_in_flight = max_in_flight.to_i
          @lock = Mutex.new
          @granted = @used = @in_flight = @granted_in_flight = @refused = @started = 0
          @from = @until = @used_at = 0.0
          @step = 0.0
          @retry_after = 0.0
        end

        # @param now [Float] monotonic seconds
        # @return [Array(Float, Object)] seconds until the request may start, and its slot; the slot is nil if that is
        #   too late
        def reserve(now, patience)
          @lock.synchronize do
            seconds = delay_at(now)
            next [seconds, nil] if seconds > patience

            slot = [seconds.zero?]
            start if slot[0]
            [seconds, slot]
          end
        end

        # @return [Float] seconds until the request may start; 0.0 if it counts as started
        def wait(slot, now)
          @lock.synchronize do
            seconds = delay_at(now)
            next seconds unless seconds.zero?

            slot[0] = true
            start
            0.0
          end
        end

        def delay(now) = @lock.synchronize { delay_at(now) }

        # Releases a slot in which no request starts.
        # @return [void]
        def cancel(slot) = ended(slot)

        # @return [void]
        def ended(slot)
          @lock.synchronize { @in_flight -= 1 if slot[0] }
          slot[0] = false
        end

        # @return [void]
        def learn(_slot, response, now)
          return unless BUSY.include?(response.status)

          seconds = pause_of(response) or return
          @lock.synchronize do
            @retry_after = [@retry_after, seconds].max
            @until = [@until, now + seconds].max
          end
        end

        # @return [String] the beginning of a message
        def reason(_now) = "the fleet's rate is #{@per_second} a second"

        # @return [Demand] for the next interval
        def demand
          @lock.synchronize do
            wanted = [(@started * 2) + (@refused.positive? ? FIRST : 0) - (@granted - @used), 0].max
            wanted_in_flight = @in_flight + (@refused.positive? ? [@in_flight, FIRST].max : 0)
            demand = Demand.new(@origin, @per_second, wanted, @max_in_flight, @in_flight, wanted_in_flight,
                                @retry_after)
            @started = @refused = 0
            @retry_after = 0.0
            demand
          end
        end

        # @param grant [Grant]
        # @param interval [Float] seconds
        # @return [void]
        def apply(grant, interval, now)
          @lock.synchronize do
            @granted = @granted - @used + grant.starts
            @used = 0
            @from = now
            @step = @granted.zero? ? 0.0 : interval / @granted
            @granted_in_flight = grant.in_flight
            @until = [@until, now + grant.pause].max if grant.pause.positive?
          end
        end

        # @return [Boolean] whether the share needs no grants
        def idle?(now) = @lock.synchronize { @in_flight.zero? && now - @used_at > 1.0 }

        private

        def start
          @used += 1
          @started += 1
          @in_flight += 1
        end

        def delay_at(now)
          @used_at = now
          return @until - now if @until > now

          if exhausted?
            @refused += 1
            return RECHECK
          end
          return 0.0 if @per_second.zero?

          seconds = @from + (@used * @step) - now
          seconds > 1e-6 ? seconds : 0.0
        end

        def exhausted?
          (@max_in_flight.positive? && @in_flight >= @granted_in_flight) || (@per_second.positive? && @used >= @granted)
        end

        def pause_of(response)
          # A Retry-After that cannot be parsed has the same effect as a 429 without Retry-After.
          seconds = RetryAfter.seconds(response)
          return (PAUSE if response.status == 429 || response["retry-after"]) if seconds.nil?

          [seconds, LONGEST].min
        end
      end
    end
  end
end
