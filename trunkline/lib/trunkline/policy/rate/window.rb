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
          @left = nil # the fewest that an answer has told of until @resets_at; nil: none has
          @begun = 0 # number of the last that had begun when @left was told
          @taken = 0 # requests since then that were counted, and of which no answer told
          @resets_at = nil
          @limit = 1
          @period = SHORTEST
          @newest = 0 # number of the newest request whose answer has told of it
        end

        # @param told [Fields::Told]
        # @param number [Integer] of the request that was answered
        # @param begun [Integer] number of the last start that has begun
        # @param in_flight [Integer] how many of them the server may not have counted
        # @param now [Float] monotonic seconds
        # @return [void]
        def learn(told, number, begun, in_flight, now)
          resets_at = now + (told.reset || rest(told, now))
          unless outdated?(number, resets_at)
            note_limit(told, number, resets_at, now)
            count_left(told.left, number, begun, resets_at)
            @told_until = @resets_at = resets_at
          end
          @last = begun + @left - @taken - in_flight if @left
        end

        # A request was counted of which no answer tells.
        # @return [void]
        def take
          @taken += 1
        end

        # @param number [Integer] of a start
        # @param begun [Integer] number of the last that has begun
        # @param now [Float] monotonic seconds
        # @return [Float] seconds until it is allowed
        def seconds_until(number, begun, now)
          if now >= @resets_at
            passed = [@last, number - 1].min
            renew([begun, passed].max, now)
          end
          return 0.0 if number <= @last

          @resets_at + (number - @last - 1).div(@limit) * @period - now
        end

        # @return [Boolean] whether what the server told of it has passed
        def over?(now) = now >= @told_until

        # @param started [Integer] number of the last one that has a slot
        # @param now [Float] monotonic seconds
        # @return [Hash{Symbol => Numeric}] limit, remaining, and reset: seconds until there are as many as limit again
        def to_h(started, now)
          { limit: @limit, remaining: [@last - started, 0].max, reset: @resets_at - now }
        end

        private

        # An answer that was overtaken by one of the next period tells of a period that is over for the server.
        def outdated?(number, resets_at)
          number < @newest && resets_at < @resets_at - ROUNDING / 2
        end

        def note_limit(told, number, resets_at, now)
          @newest = [@newest, number].max
          @limit = told.limit || [@limit, told.left + 1].max
          @period = told.period || [@period, resets_at - now].max
        end

        # Answers overtake each other: of one period, the lowest counts. The next has begun when a request that began
        # after that answer has as many left.
        def count_left(left, number, begun, resets_at)
          same = @left && (resets_at - @resets_at).abs <= ROUNDING && (left < @left || number <= @begun)
          return if same && left >= @left

          @taken = same ? [@taken - (@left - left), 0].max : 0
          @left = left
          @begun = begun
        end

        # @return [Float] seconds until the reset, of which nothing was told
        def rest(told, now)
          return @resets_at - now if @resets_at && @resets_at > now

          told.period || 1.0
        end

        # The next period has begun: what was left in the last is lost, and who has waited longest goes first. Who could
        # have begun in the last and has not, as its thread is gone, holds nobody back.
        def renew(begun, now)
          @left = nil
          @last = begun + @limit
          @resets_at += ((now - @resets_at) / @period).floor.succ * @period
        end
      end
    end
  end
end
