# frozen_string_literal: true

require_relative "../policy/call"
require_relative "../redacted"
require_relative "pending_request"

module Trunkline
  class Scheduler
    # The calls that have, or may have, two requests in flight (see Policy::Call#race). The second is a separate
    # PendingRequest, which the caller never sees. With streamed responses the first head decides: the call continues
    # with its exchange, whichever PendingRequest started it.
    class Races
      include Redacted

      def initialize
        @races = {}.compare_by_identity   # Flow::Race by the first PendingRequest
        @seconds = {}.compare_by_identity # the second PendingRequest by the first
        @firsts = {}.compare_by_identity  # the first by the second
      end

      # @return [Boolean]
      def empty? = @races.empty?

      # @param pending [PendingRequest]
      # @param race [Flow::Race]
      def add(pending, race)
        @races[pending] = race
      end

      # @param pending [PendingRequest] the first or the second
      # @return [PendingRequest, nil] the first; nil: pending is not in a race
      def first_of(pending) = @races.key?(pending) ? pending : @firsts[pending]

      # @param pending [PendingRequest] the first
      # @return [PendingRequest, nil] the second, to be sent
      def second(pending)
        race = @races[pending]
        record = race.second.call or return

        race.records << record
        second = pending.dup
        second.request = record.request
        @firsts[second] = pending
        @seconds[pending] = second
      end

      # @param first [PendingRequest]
      # @return [Boolean] whether the head of a streamed response has decided the race
      def decided?(first) = !@races[first].winner.nil?

      # @param first [PendingRequest]
      # @return [PendingRequest, nil] the second
      def second_of(first) = @seconds[first]

      # Records whose head arrived first. The other request has been cancelled.
      # @param first [PendingRequest]
      # @param winner [PendingRequest] the first or the second
      def decide(first, winner, now)
        race = @races[first]
        race.records.each { |record| record.ended ||= now }
        race.winner = race.records[winner.equal?(first) ? 0 : 1]
        first.take_over(winner) unless winner.equal?(first)
      end

      # Records a result.
      # @param pending [PendingRequest] the first or the second
      # @param result [Response, Exception]
      # @return [Boolean] whether the race is over: there is a response, or no request is in flight
      def over?(pending, result, now)
        first = first_of(pending)
        race = @races[first]
        record = race.winner || race.records[pending.equal?(first) ? 0 : 1]
        record.ended ||= now
        record.result = result
        other = pending.equal?(first) ? @seconds[first] : first
        !result.is_a?(Error) || other.nil? || !other.in_flight?
      end

      # Removes a race.
      # @param first [PendingRequest]
      # @return [Array<PendingRequest>] the requests that are still in flight
      def delete(first)
        @races.delete(first)
        second = @seconds.delete(first)
        @firsts.delete(second)
        [first, second].compact.select(&:in_flight?)
      end

      def clear
        [@races, @seconds, @firsts].each(&:clear)
      end
    end
  end
end
