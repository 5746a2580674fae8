# frozen_string_literal: true

require_relative "errors"

module Trunkline
  # The busy_poll: option. A server next door answers before a thread that sleeps is awake again.
  module BusyPoll
    # About what a wait costs in which the thread sleeps: an answer that takes longer gains little.
    DEFAULT = 0.00006
    LONGEST = 0.001

    module_function

    # @param value [Numeric, Boolean, nil] seconds; true for the default, false for none
    # @return [Float] seconds; 0 for none
    # @raise [InvalidRequest]
    def seconds(value)
      case value
      when true, nil then DEFAULT
      when false then 0.0
      when Integer, Float, Rational
        (0..LONGEST).cover?(value) ? value.to_f : raise(refusal(value))
      else raise refusal(value)
      end
    end

    def refusal(value)
      InvalidRequest.of("busy_poll", value, "true, false, or seconds from 0 to #{LONGEST}")
    end

    private_class_method :refusal
  end
end
