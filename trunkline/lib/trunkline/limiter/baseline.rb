# frozen_string_literal: true

module Trunkline
  class Limiter
    # The goodput of the limit that others are compared with: of all epochs at it, the older ones counting less.
    class Baseline
      # What weight the epochs before have when the limit is measured again.
      OLD = 0.5

      # @return [Float] answers per second
      attr_reader :goodput
      # @return [Float] standard error of the goodput, as a share of it
      attr_reader :error

      def initialize
        forget
      end

      # The server is another one than it was, or the limit is.
      def forget
        @limit = @goodput = nil
        @error = @count = @seconds = 0.0
      end

      # The limit is to be measured once more.
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

      # Another limit takes its place, by what its probe has measured.
      # @param epoch [Epoch]
      def become(limit, epoch)
        forget
        @limit = limit
        add(epoch)
      end
    end
  end
end
