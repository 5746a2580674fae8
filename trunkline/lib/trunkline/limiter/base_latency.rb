# frozen_string_literal: true

module Trunkline
  class Limiter
    # Estimates how long a request takes when it does not wait at the server. A single sample may be too low, so the
    # estimate moves only part of the way to it.
    class BaseLatency
      # A latency above this multiple of the base means that more requests wait at the server than it handles at once.
      QUEUED = 2.3
      # Seconds: shorter waits may be caused by the client's own machine.
      LEAST_WAIT = 0.025
      # Weight of a new sample.
      SEEN = 0.25
      # A limit is not raised when the latency is above this multiple of the base, whatever the gain in goodput.
      TOO_LONG = 10

      def initialize
        @seconds = nil
      end

      # @param median [Float] seconds, at any limit
      def seen(median)
        @seconds = @seconds ? [@seconds, @seconds + (median - @seconds) * SEEN].min : median
      end

      # Goodput fell as much as the limit: no request waited at the server.
      def unqueued(median)
        @seconds += (median - @seconds) * SEEN
      end

      # The server has become slower.
      def slower(median)
        @seconds = [@seconds, (@seconds + median) / 2].max
      end

      # The server has become faster.
      def faster(median)
        @seconds = [@seconds, median].min
      end

      def queued?(median)
        median > QUEUED * @seconds && median > @seconds + LEAST_WAIT
      end

      def too_long?(median)
        median > TOO_LONG * @seconds
      end

      # Returns how many of the requests in flight the server handles while the others wait (Little's law).
      # @return [Float]
      def served(in_flight, median)
        in_flight * @seconds / median
      end
    end
  end
end
