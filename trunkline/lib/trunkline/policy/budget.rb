# frozen_string_literal: true

require_relative "../lock"

module Trunkline
  module Policy
    # A token bucket that pays for additional requests, such as retries: each call puts a part of a token in, each
    # additional request takes one out. Safe for use by several threads.
    #
    # @api private
    class Budget
      # Ten times 0.1 is less than 1.
      ROUNDING = 1e-9
      private_constant :ROUNDING

      # @param ratio [Float] tokens that each call puts in
      # @param most [Numeric] tokens that the bucket holds at most
      # @param per_second [Float] tokens that each second puts in
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
      # @return [Boolean] whether one more request is paid for
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

      # The time begins with the first call. Of two threads, the one that comes second may have the earlier time.
      def fill(now)
        @at ||= now
        return if now <= @at

        @tokens = [@tokens + (now - @at) * @per_second, @most].min
        @at = now
      end
    end
  end
end
