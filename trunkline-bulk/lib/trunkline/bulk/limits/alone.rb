# frozen_string_literal: true

require_relative "ask"

module Trunkline
  class Bulk
    class Limits
      # Grants a process its part of the limits when there is no Redis: the total divided by the number of workers.
      #
      # @api private
      class Alone
        INTERVAL = 0.1
        private_constant :INTERVAL

        # @return [Integer] the number of workers when Redis last answered
        attr_accessor :workers

        def initialize
          @workers = 1
          @tokens = {}
          @at = {}
        end

        # @param asks [Array<Ask>]
        # @param now [Float] monotonic seconds
        # @return [Grants]
        def exchange(asks, now)
          Grants.new(INTERVAL, @workers, asks.map { |ask| grant(ask, now) })
        end

        # @param origin [String]
        # @return [void]
        def forget(origin)
          @tokens.delete(origin)
          @at.delete(origin)
        end

        private

        def grant(ask, now)
          flying = ask.most_in_flight.zero? ? ask.wanted_in_flight : [ask.most_in_flight / @workers, 1].max
          Grant.new(ask.per_second.zero? ? ask.wanted : take(ask, now), flying, 0.0)
        end

        def take(ask, now)
          rate = ask.per_second.fdiv(@workers)
          most = [rate * INTERVAL * 2, 1.0].max
          passed = now - @at.fetch(ask.origin, now)
          tokens = [@tokens.fetch(ask.origin, most / 2) + (passed * rate), most].min
          granted = [ask.wanted, tokens.floor].min
          @at[ask.origin] = now
          @tokens[ask.origin] = tokens - granted
          granted
        end
      end
    end
  end
end
