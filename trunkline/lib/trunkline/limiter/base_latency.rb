# frozen_string_literal: true

module Trunkline
  class Limiter
    # How long a request takes when it does not wait at the server, as far as that has been seen. A sample may be
    # lucky, so what is learnt from one is part of the way to it.
    class BaseLatency
      # A latency of so many times the base: requests wait at the server, more than one on each that is served.
      QUEUED = 2.3
      # Seconds of waiting that are the server's: the client's own machine makes answers wait for less.
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

      # None of these waited: with so many fewer in flight, as many fewer were answered.
      def unqueued(median)
        @seconds += (median - @seconds) * SEEN
      end

      # It was found that requests take so long without waiting.
      def slower(median)
        @seconds = [@seconds, (@seconds + median) / 2].max
      end

      # It was found that the server is faster than it was.
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
