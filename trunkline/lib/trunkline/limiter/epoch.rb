# frozen_string_literal: true

module Trunkline
  class Limiter
    # Measures goodput (responses per second) at one limit. An epoch begins with the first response to a request that
    # was started under that limit. It counts a multiple of the limit, so that bursts are counted whole, and lasts
    # until the standard error is small enough.
    class Epoch
      # Seconds: a shorter epoch would measure the operating system's scheduler.
      SHORTEST = 0.05
      FEWEST = 16
      # Latencies kept for the median.
      KEPT = 64
      # Weight of a new sample of the noise.
      NEW = 0.05

      # @return [Integer] responses counted
      attr_reader :count
      # @return [Float] length of the epoch
      attr_reader :seconds
      # @return [Float] responses per second
      attr_reader :goodput
      # @return [Float] standard error of the goodput, as a share of it
      attr_reader :error
      # @return [Boolean] whether the epoch has begun
      attr_reader :begun
      alias open? begun

      def initialize
        @noise = 0.5 # variance of the number of responses in a period, per response: 1 for Poisson, 0 for regular ones
        @latencies = []
        @begun = false
      end

      # @param limit [Integer]
      # @param rounds [Integer] minimum of responses, as a multiple of the limit
      # @param target [Float] standard error to reach
      # @param longest [Float] seconds after which the epoch ends even with a larger error
      def prepare(limit, rounds:, target:, longest:)
        @limit = limit
        @fewest = [rounds * limit, FEWEST].max
        @target = target
        @longest = longest
        @begun = false
      end

      def open(now)
        @begun = true
        @began = @turn = now
        @last_turn = nil
        @count = @starved = 0
        @check = @limit
        @latencies.clear
      end

      # @param full [Boolean] whether as many requests were in flight as the limit allows
      # @return [Boolean] whether the caller must now call #ready?
      def turn?(latency, full)
        @count += 1
        @starved += 1 unless full
        @latencies << latency if @latencies.size < KEPT
        @count >= @check
      end

      # Ends a turn: as many responses as the limit. The block is passed the goodput and error so far, and returns
      # whether they suffice.
      # @return [Boolean]
      def ready?(now)
        @check += @limit
        learn_noise(now)
        seconds = now - @began
        return false if seconds < SHORTEST || @count < @fewest

        @seconds = seconds
        @goodput = @count / seconds
        @error = error_of(@count)
        @error <= @target || seconds >= @longest || (block_given? && yield(@goodput, @error))
      end

      # @return [Float] standard error of a goodput that was counted from this many responses
      def error_of(count)
        Math.sqrt(@noise / count)
      end

      # @return [Boolean] whether the caller had too few requests to send, so that the epoch does not measure the server
      def starved? = @starved * 10 > @count

      # @return [Integer]
      attr_reader :limit

      # @return [Float] seconds
      def median
        sorted = @latencies.sort
        sorted[sorted.size / 2] || 0.0
      end

      private

      # Half the squared difference of two successive turns is an estimate of their variance that a slow drift does not
      # affect.
      def learn_noise(now)
        turn = now - @turn
        @turn = now
        last = @last_turn
        @last_turn = turn
        return unless last && (turn + last).positive?

        mean = (turn + last) / 2
        seen = ((turn - last) / mean)**2 / 2 * @limit
        @noise += NEW * ([seen, 4.0].min - @noise)
        @noise = 0.01 if @noise < 0.01
      end
    end
  end
end
