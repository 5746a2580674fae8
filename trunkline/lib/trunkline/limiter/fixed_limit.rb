# frozen_string_literal: true

module Trunkline
  class Limiter
    # A limit that the caller set. It has the methods of AdaptiveLimit, and ignores all events.
    class FixedLimit
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

      # (see AdaptiveLimit#on_success)
      def on_success(_now, _latency, _generation, _full); end

      # (see AdaptiveLimit#on_overload)
      def on_overload(_now, _accepted, _what); end
    end
  end
end
