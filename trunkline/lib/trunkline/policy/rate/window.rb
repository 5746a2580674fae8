# frozen_string_literal: true

module Trunkline
  module Policy
    class Rate
      # One of a server's limits: how many requests it takes until a moment, and from then on. Starts have numbers, as
      # in Quota. Not safe for use by two threads.
      class Window
        # Seconds by which two answers may differ about the moment, which they round.
        ROUNDING = 1.0
        # Seconds: the shortest period that is believed.
        SHORTEST = 0.001
        private_constant :ROUNDING, :SHORTEST

        def initialize
          @last = nil # number of the last start before @resets_at
          @resets_at = nil
          @limit = 1
          @period = SHORTEST
          @newest = 0 # number of the newest request whose answer has told of it
        end

        # @param told [Fields::Told]
        # @param number [Integer] of the request that was answered
        # @param now [Float] monotonic seconds
        # @return [void]
        def learn(told, number, now)
          resets_at = now + (told.reset || rest(told, now))
          return if outdated?(number, resets_at)

          @newest = [@newest, number].max
          @limit = told.limit || [@limit, told.left + 1].max
          @period = told.period || [@period, resets_at - now].max
          last = number + told.left
          # Answers overtake each other: of one window, the lowest counts.
          last = [last, @last].min if @resets_at && (resets_at - @resets_at).abs <= ROUNDING
          @last = last
          @told_until = @resets_at = resets_at
        end

        # @param number [Integer] of a start
        # @param started [Integer] number of the last one that has a slot
        # @param now [Float] monotonic seconds
        # @return [Float] seconds until it is allowed
        def seconds_until(number, started, now)
          renew(started, now) if now >= @resets_at
          return 0.0 if number <= @last

          @resets_at + (number - @last - 1).div(@limit) * @period - now
        end

        # @return [Boolean] whether what the server told of it has passed
        def over?(now) = now >= @told_until

        # @param started [Integer] number of the last start
        # @param now [Float] monotonic seconds
        # @return [Hash{Symbol => Numeric}] limit, remaining, and reset: seconds until there are as many as limit again
        def to_h(started, now)
          renew(started, now) if now >= @resets_at
          { limit: @limit, remaining: [@last - started, 0].max, reset: @resets_at - now }
        end

        private

        # An answer that was overtaken by one of the next period tells of a period that is over for the server.
        def outdated?(number, resets_at)
          number < @newest && resets_at < @resets_at - ROUNDING / 2
        end

        # @return [Float] seconds until the reset, of which nothing was told
        def rest(told, now)
          return @resets_at - now if @resets_at && @resets_at > now

          told.period || 1.0
        end

        # The next period has begun: what was left in the last is lost, and who has waited longest goes first.
        def renew(started, now)
          periods = ((now - @resets_at) / @period).floor
          @last = [@last + periods * @limit, started].min + @limit
          @resets_at += (periods + 1) * @period
        end
      end
    end
  end
end
