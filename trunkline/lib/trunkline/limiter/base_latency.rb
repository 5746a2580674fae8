# frozen_string_literal: true

module Trunkline
  class Limiter
    # Estimates how long a request takes when it does not wait at the server. A single sample may be too low, so the
    # estimate moves only part of the way to it.
    class BaseLatency
      # A latency of so many times the base: requests wait at the server, more than one on each that is served.
      QUEUED = 2.3
      # Seconds: shorter waits may be caused by the client's own machine.
      LEAST_WAIT = 0.025
      # Of the way to a sample.
      SEEN = 0.25
      # A latency of so many times the base is not to be made worse, whatever it may bring.
      TOO_LONG = 10

      def initialize
        @seconds = nil
      end

      # @param median [Float] seconds, at some limit
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

      # Little's law: of so many in flight, the part that is served while the others wait.
      # @return [Float]
      def served(in_flight, median)
        in_flight * @seconds / median
      end
    end
  end
end
