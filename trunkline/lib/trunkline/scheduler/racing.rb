# frozen_string_literal: true

require_relative "races"

module Trunkline
  class Scheduler
    # What a Scheduler does with two requests of one call (see Races).
    #
    # @api private
    module Racing
      private

      # The second request comes on top of what may be in flight: its policy has a budget.
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
        go_on(first, first.flow.after(result.is_a?(StandardError) && !result.is_a?(Error) ? result : nil), now)
      end

      # Cancels what is still in flight of a race.
      # @param kept [PendingRequest, nil] all but this one
      # @return [Boolean] whether there was such a one
      def end_race(first, kept = nil) # rubocop:disable Naming/PredicateMethod -- it ends it
        return false unless @races.first_of(first)

        @timers.delete(first)
        losers = @races.delete(first) - [kept]
        losers.each { |loser| end_lost(loser) }.any?
      end

      def end_lost(loser)
        @multi.cancel(loser.id)
        delete_completed(loser)
        end_exchange(loser)
      end

      # The first head of two streamed answers decides, and the first request stands for both from then on.
      # @param pending [PendingRequest] a streamed one
      # @return [PendingRequest] whose result it is
      def whose(pending, result)
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
