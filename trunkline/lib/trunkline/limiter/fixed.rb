# frozen_string_literal: true

module Trunkline
  class Limiter
    # A limit that was asked for: nothing is learnt of it, and back-pressure does not change it. In a Knee's place.
    class Fixed
      # @return [Integer]
      attr_reader :limit

      # @param limit [Integer]
      def initialize(limit)
        @limit = limit
      end

      def generation = 0
      def state = :fixed
      def last_probe = nil
      def why = "asked for"

      # (see Knee#answered)
      def answered(_now, _latency, _generation, _full); end

      # (see Knee#pressed)
      def pressed(_now, _accepted, _what); end
    end
  end
end
