# frozen_string_literal: true

require_relative "races"

module Trunkline
  class Scheduler
    # The part of Scheduler that runs two requests of one call (see Races).
    #
    # @api private
    module RaceSteps
      private

      # The second request may exceed the limits of requests in flight, since its policy has a budget.
      def begin_second(pending, now)
        return unless pending.in_flight?

        second = @races.second(pending)
        start(second, pending.queue, now) if second
      end

      # @return [nil]
      def end_lap(pending, result, now)
        first = @races.first_of(pending)
        @current = first
        return @current = nil unless @races.over?(pending, result, now)

        end_race(first)
        perform_step(first, first.flow.after(result.is_a?(StandardError) && !result.is_a?(Error) ? result : nil), now)
      end

      # Cancels the requests of a race that are still in flight.
      # @param excluded [PendingRequest, nil] a request that is not cancelled
      # @return [Boolean] whether a request was cancelled
      def end_race(first, excluded = nil) # rubocop:disable Naming/PredicateMethod -- it ends it
        return false unless @races.first_of(first)

        @timers.delete(first)
        losers = @races.delete(first) - [excluded]
        losers.each { |loser| end_lost(loser) }.any?
      end

      def end_lost(loser)
        @multi.cancel(loser.id)
        delete_completed(loser)
        end_exchange(loser)
      end

      # The first head of two streamed responses decides the race; from then on the first request represents both.
      # @param pending [PendingRequest] a streamed request
      # @return [PendingRequest] the request whose result it is
      def request_of_result(pending, result)
        first = @races.first_of(pending) or return pending
        decide_race(first, pending) if result.is_a?(Response) && !@races.decided?(first)
        @races.decided?(first) ? first : pending
      end

      def decide_race(first, winner)
        @timers.delete(first)
        other = winner.equal?(first) ? @races.second_of(first) : first
        end_lost(other) if other&.in_flight?
        @races.decide(first, winner, Engine.now)
      end
    end
  end
end
