# frozen_string_literal: true

require_relative "demand"

module Trunkline
  class Bulk
    class Limits
      # Grants a process its part of the limits when there is no Redis: the total divided by the number of workers.
      #
      # @api private
      class Local
        INTERVAL = 0.1
        private_constant :INTERVAL

        # @return [Integer] the number of workers when Redis last answered
        attr_accessor :workers

        def initialize
          @workers = 1
          @tokens = {}
          @updated_at = {}
        end

        # @param demands [Array<Demand>]
        # @param now [Float] monotonic seconds
        # @return [Grants]
        def exchange(demands, now)
          Grants.new(INTERVAL, @workers, demands.map { |demand| grant(demand, now) })
        end

        # @param origin [String]
        # @return [void]
        def forget(origin)
          @tokens.delete(origin)
          @updated_at.delete(origin)
        end

        private

        def grant(demand, now)
          in_flight = demand.max_in_flight.zero? ? demand.wanted_in_flight : [demand.max_in_flight / @workers, 1].max
          Grant.new(demand.per_second.zero? ? demand.wanted : take_tokens(demand, now), in_flight, 0.0)
        end

        def take_tokens(demand, now)
          rate = demand.per_second.fdiv(@workers)
          max = [rate * INTERVAL * 2, 1.0].max
          elapsed = now - @updated_at.fetch(demand.origin, now)
          tokens = [@tokens.fetch(demand.origin, max / 2) + (elapsed * rate), max].min
          granted = [demand.wanted, tokens.floor].min
          @updated_at[demand.origin] = now
          @tokens[demand.origin] = tokens - granted
          granted
        end
      end
    end
  end
end
