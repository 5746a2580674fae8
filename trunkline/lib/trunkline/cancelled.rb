# frozen_string_literal: true

require_relative "errors"
require_relative "interrupts"
require_relative "error_message"

module Trunkline
  # A request was cancelled before it had a result: by Future#cancel, by an interrupt of its batch, or by closing its
  # client. Also raised by reading a body after Response#close. The server may have received a request that was in
  # flight.
  class Cancelled < Error
    class << self
      # @api private
      # @param pending [Scheduler::PendingRequest]
      # @param reason [String] completes the sentence that begins with the request
      # @return [Cancelled]
      def of(pending, reason = "was cancelled")
        text = "#{ErrorMessage.describe(pending.request)} #{reason}"
        sent = pending.started ? :partial : :none
        return new("#{text} before it was sent", request: pending.request, phase: :queue, sent: sent) if sent == :none

        elapsed = Process.clock_gettime(Process::CLOCK_MONOTONIC) - pending.started
        new("#{text} in flight; the server may have it", request: pending.request, sent: sent, elapsed: elapsed)
      end

      # Calls on_cancel with each request, even when it raises for one of them.
      #
      # @api private
      # @param requests [Array<Object>] in the form that the caller gave
      # @param on_cancel [#call, nil]
      # @raise [StandardError] the first error of on_cancel, after it was called with all requests
      def notify(requests, on_cancel)
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
