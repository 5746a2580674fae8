# frozen_string_literal: true

require_relative "errors"
require_relative "sentence"

module Trunkline
  # A request among many was given up: by Future#cancel, by an interrupt of its batch, or by its client's close. The
  # server may have seen it when it was in flight.
  class Cancelled < Error
    # @api private
    # @param order [Many::Order]
    def self.of(order, why = "was cancelled")
      what = "#{Sentence.call(order.request)} #{why}"
      sent = order.started ? :partial : :none
      return new("#{what} before it was sent", request: order.request, phase: :queue, sent: sent) if sent == :none

      elapsed = Process.clock_gettime(Process::CLOCK_MONOTONIC) - order.started
      new("#{what} in flight; the server may have it", request: order.request, sent: sent, elapsed: elapsed)
    end
  end
end
