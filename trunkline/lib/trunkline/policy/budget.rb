# frozen_string_literal: true

require_relative "../lock"

module Trunkline
  module Policy
    # A token bucket that limits additional requests, such as retries: each call adds a fraction of a token, each
    # additional request takes one token. Safe for use by several threads.
    #
    # @api private
    class Budget
      # Tolerance for Float rounding: ten times 0.1 added up is less than 1.
      ROUNDING = 1e-9
      private_constant :ROUNDING

      # @param ratio [Float] tokens that each call adds
      # @param most [Numeric] maximum number of tokens in the bucket
      # @param per_second [Float] tokens that each second adds
      # @param initial [Numeric] tokens at the beginning
      def initialize(ratio:, most:, per_second: 0.0, initial: 0)
        @ratio = ratio.to_f
        @most = most.to_f
        @per_second = per_second.to_f
        @tokens = [initial.to_f, @most].min
        @at = nil
        @taken = @refused = 0
        @lock = Lock.new
      end

      # Counts a call.
      # @param now [Float] monotonic seconds
      # @return [void]
      def deposit(now)
        @lock.synchronize do
          fill(now)
          @tokens = [@tokens + @ratio, @most].min
        end
      end

      # @param now [Float] monotonic seconds
      # @return [Boolean] whether a token was taken, so that one more request may be sent
      def take(now)
        @lock.synchronize do
          fill(now)
          paid = @tokens >= 1.0 - ROUNDING
          paid ? @taken += 1 : @refused += 1
          @tokens = [@tokens - 1.0, 0.0].max if paid
          paid
        end
      end

      # @return [Hash{Symbol => Numeric}] tokens: left at the last change, most:, taken: and refused: so far
      def to_h
        @lock.synchronize { { tokens: @tokens, most: @most, taken: @taken, refused: @refused } }
      end

      private

      # The clock starts at the first call. `now` may be earlier than @at, because a thread reads the time before it
      # gets the lock.
      def fill(now)
        @at ||= now
        return if now <= @at

        @tokens = [@tokens + (now - @at) * @per_second, @most].min
        @at = now
      end
    end
  end
end
