# frozen_string_literal: true

require_relative "clock"

module Trunkline
  module Lab
    # Divides time over parts that run one after the other. Each part gets its share, by weight, of the time that is
    # left when it begins: time that a part saves goes to the later ones, and time that it overruns is taken from them.
    class Budget
      # @param seconds [Float] for all parts
      # @param weights [Hash{Object => Numeric}] part => weight, in the order in which they come
      # @param clock [#call] seconds
      def initialize(seconds, weights, clock: Clock.method(:now))
        @weights = weights
        @clock = clock
        @deadline = clock.call + seconds
      end

      # @param part [Object] the one that begins now
      # @return [Float] seconds, 0 when nothing is left
      def share(part)
        ahead = @weights.drop_while { |name, _| name != part }.sum { |_, weight| weight }
        [(@deadline - @clock.call) * @weights.fetch(part) / ahead.to_f, 0.0].max
      end
    end
  end
end
