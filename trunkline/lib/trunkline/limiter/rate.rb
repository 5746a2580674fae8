# frozen_string_literal: true

module Trunkline
  class Limiter
    # A token bucket that limits starts per second.
    class Rate
      # Seconds of tokens that may accumulate while the caller does other work.
      BURST = 0.02

      # @return [Float] starts per second
      attr_reader :per_second

      # @param per_second [Numeric] starts per second
      # @param now [Float] seconds
      def initialize(per_second, now)
        @per_second = per_second.to_f
        @tokens = 1.0
        @at = now
      end

      # @return [Boolean] whether one more request may start
      def ready?(now)
        fill(now)
        @tokens >= 1.0
      end

      def take(now)
        fill(now)
        @tokens -= 1.0
      end

      # Undoes a #take after which no request was started.
      def give_back
        @tokens += 1.0
      end

      # @return [Float] seconds until one more request may start
      def wait(now)
        fill(now)
        @tokens >= 1.0 ? 0.0 : (1.0 - @tokens) / @per_second
      end

      private

      def fill(now)
        return if now <= @at

        most = [@per_second * BURST, 1.0].max
        @tokens += (now - @at) * @per_second
        @tokens = most if @tokens > most
        @at = now
      end
    end

    # A rate learnt from 429s. It doubles every second until the next 429; from then on it follows the curve of CUBIC
    # (RFC 9438 4.2): fast up to the rate that was limited, slowly around it, then faster beyond.
    class LearntRate < Rate
      GROWTH = 0.4
      DECREASE = 0.85
      LEAST = 0.5
      # Seconds in which further 429s are ignored: they have the same cause.
      IGNORE_429_SECONDS = 0.25

      # @param accepted [Float] requests that the server accepted in the last second
      def initialize(accepted, now)
        super([accepted, LEAST].max, now)
        @since = now
        @base = @per_second
        @peak = nil
      end

      # @param accepted [Float] requests that the server accepted in the last second
      # @param latency [Float] seconds until a change of the rate takes effect
      def on_rate_limit(now, accepted, latency)
        return if now - @since < [latency, IGNORE_429_SECONDS].max

        fill(now)
        @peak = @per_second.clamp(LEAST, [accepted, LEAST].max)
        @per_second = @peak * DECREASE
        @since = now
        @tokens = [@tokens, 0.0].min
      end

      # @return [Boolean] whether the rate is so far above the accepted requests that it limits nothing
      def idle?(accepted)
        @per_second > 3 * accepted && @per_second > 10
      end

      private

      def fill(now)
        @per_second = current(now) if now > @at
        super
      end

      def current(now)
        seconds = now - @since
        return @base * (2**[seconds, 20].min) if @peak.nil?

        flat = Math.cbrt(@peak * (1 - DECREASE) / GROWTH)
        [GROWTH * ((seconds - flat)**3) + @peak, LEAST].max
      end
    end
  end
end
