# frozen_string_literal: true

require_relative "errors"
require_relative "interrupts"
require_relative "sentence"

module Trunkline
  # A request among many was given up: by Future#cancel, by an interrupt of its batch, or by its client's close. The
  # server may have seen it when it was in flight.
  class Cancelled < Error
    class << self
      # @api private
      # @param pending [Scheduler::PendingRequest]
      # @return [Cancelled]
      def of(pending, why = "was cancelled")
        what = "#{Sentence.call(pending.request)} #{why}"
        sent = pending.started ? :partial : :none
        return new("#{what} before it was sent", request: pending.request, phase: :queue, sent: sent) if sent == :none

        elapsed = Process.clock_gettime(Process::CLOCK_MONOTONIC) - pending.started
        new("#{what} in flight; the server may have it", request: pending.request, sent: sent, elapsed: elapsed)
      end

      # Calls on_cancel with each request, also when it raises for another one.
      #
      # @api private
      # @param requests [Array<Object>] as the caller gave them
      # @param on_cancel [#call, nil]
      # @raise the first error of on_cancel, when all have been told
      def tell(requests, on_cancel)
        return if on_cancel.nil?

        errors = requests.filter_map do |request|
          on_cancel.call(request) && nil
        rescue StandardError => error
          Interrupts.ended_by?(error) ? raise : error
        end
        raise errors.first unless errors.empty?
      end
    end
  end
end
