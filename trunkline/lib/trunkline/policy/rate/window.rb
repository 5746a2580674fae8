# frozen_string_literal: true

module Trunkline
  module Policy
    class Rate
      # One of a server's limits: how many requests it accepts until the reset, and in each period after it. Starts are
      # numbered as in Quota. Not safe for use by two threads.
      class Window
        # Seconds by which two responses may differ about the time of the reset, since servers round it.
        ROUNDING = 1.0
        # Shortest period that is accepted, in seconds.
        SHORTEST = 0.001
        private_constant :ROUNDING, :SHORTEST

        def initialize
          @last = nil # number of the last start before @resets_at
          @left = nil # lowest remaining number of starts that a response reported until @resets_at; nil without one
          @begun = 0 # number of the last start that had begun when @left was reported
          @taken = 0 # requests counted since then that no response reported
          @resets_at = nil
          @limit = 1
          @period = SHORTEST
          @newest = 0 # highest number of a request whose response was used
        end

        # @param rate_limit [Fields::RateLimit]
        # @param number [Integer] of the answered request
        # @param begun [Integer] number of the last start that has begun
        # @param in_flight [Integer] number of requests that the server may not have counted yet
        # @param now [Float] monotonic seconds
        # @return [void]
        def learn(rate_limit, number, begun, in_flight, now)
          resets_at = now + (rate_limit.reset || seconds_to_reset(rate_limit, now))
          unless outdated?(number, resets_at)
            note_limit(rate_limit, number, resets_at, now)
            count_left(rate_limit.left, number, begun, resets_at)
            @reported_until = @resets_at = resets_at
          end
          @last = begun + @left - @taken - in_flight if @left
        end

        # Counts a request that no response reported.
        # @return [void]
        def take
          @taken += 1
        end

        # @param number [Integer] of a start
        # @param begun [Integer] number of the last start that has begun
        # @param now [Float] monotonic seconds
        # @return [Float] seconds until the start is allowed
        def seconds_until(number, begun, now)
          if now >= @resets_at
            passed = [@last, number - 1].min
            renew([begun, passed].max, now)
          end
          return 0.0 if number <= @last

          @resets_at + (number - @last - 1).div(@limit) * @period - now
        end

        # @return [Boolean] whether the period that the server reported has passed
        def over?(now) = now >= @reported_until

        # @param started [Integer] number of the last reserved slot
        # @param now [Float] monotonic seconds
        # @return [Hash{Symbol => Numeric}] limit, remaining, and reset: seconds until the next period begins
        def to_h(started, now)
          { limit: @limit, remaining: [@last - started, 0].max, reset: @resets_at - now }
        end

        private

        # A response that arrives after one of the next period reports a period that is over on the server.
        def outdated?(number, resets_at)
          number < @newest && resets_at < @resets_at - ROUNDING / 2
        end

        def note_limit(rate_limit, number, resets_at, now)
          @newest = [@newest, number].max
          @limit = rate_limit.limit || [@limit, rate_limit.left + 1].max
          @period = rate_limit.period || [@period, resets_at - now].max
        end

        # Responses arrive out of order, so the lowest remaining number within a period counts. A number that is not
        # lower means a new period if its request began after the response with the lowest number.
        def count_left(left, number, begun, resets_at)
          same = @left && (resets_at - @resets_at).abs <= ROUNDING && (left < @left || number <= @begun)
          return if same && left >= @left

          @taken = same ? [@taken - (@left - left), 0].max : 0
          @left = left
          @begun = begun
        end

        # @return [Float] seconds until the reset, when the response reports none
        def seconds_to_reset(rate_limit, now)
          return @resets_at - now if @resets_at && @resets_at > now

          rate_limit.period || 1.0
        end

        # Begins the next period: starts left over from the last one are lost, and the longest waiting slots go first. A
        # slot that could have begun in the last period but did not, because its thread is gone, does not delay the
        # others.
        def renew(begun, now)
          @left = nil
          @last = begun + @limit
          @resets_at += ((now - @resets_at) / @period).floor.succ * @period
        end
      end
    end
  end
end
