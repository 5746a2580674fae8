# frozen_string_literal: true

module Trunkline
  class Limiter
    # As many in flight as the caller said: nothing is learnt, nothing is taken away.
    class Fixed
      attr_reader :limit
      # For its lane, which counts down by itself: a limit that was set has nothing to learn from an answer.
      attr_accessor :in_flight

      # @param limit [Integer]
      def initialize(limit)
        @limit = limit
        @in_flight = 0
      end

      def generation
        0
      end

      def ready?(_now)
        @in_flight < @limit
      end

      def start(_now)
        @in_flight += 1
        0
      end

      def wait(_now)
        @in_flight < @limit ? 0.0 : nil
      end

      def answered(_now, _started, _generation)
        @in_flight -= 1
      end

      def dropped
        @in_flight -= 1
      end

      def pressed(_now, _what, _retry_after = nil)
        dropped
      end

      def limited(_now, _retry_after = nil)
        dropped
      end

      def to_h
        { limit: @limit, state: :fixed, last_probe: nil, why: "concurrency: #{@limit}", rate: nil }
      end
    end
  end
end
