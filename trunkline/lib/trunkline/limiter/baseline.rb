# frozen_string_literal: true

module Trunkline
  class Limiter
    # The goodput that probes are compared with: the mean of all epochs at its limit, older ones weighted less.
    class Baseline
      # Weight of earlier epochs when the limit is measured again.
      OLD = 0.5

      # @return [Float] responses per second
      attr_reader :goodput
      # @return [Float] standard error of the goodput, as a share of it
      attr_reader :error

      def initialize
        forget
      end

      def forget
        @limit = @goodput = nil
        @error = @count = @seconds = 0.0
      end

      # Prepares another measurement of the limit.
      def again(limit)
        forget unless limit == @limit
        @limit = limit
        @count *= OLD
        @seconds *= OLD
      end

      # @param epoch [Epoch]
      def add(epoch)
        @count += epoch.count
        @seconds += epoch.seconds
        @goodput = @count / @seconds
        @error = epoch.error_of(@count)
      end

      # Replaces the baseline by a probe's measurement of another limit.
      # @param epoch [Epoch]
      def become(limit, epoch)
        forget
        @limit = limit
        add(epoch)
      end
    end
  end
end
