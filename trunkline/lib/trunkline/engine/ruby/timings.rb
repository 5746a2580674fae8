# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # Seconds of each phase of an exchange; nil: the phase did not happen. Not a Struct, which JRuby creates more
      # slowly.
      class Timings
        attr_accessor :queue, :resolve, :connect, :tls, :write, :first_byte, :total, :gvl

        def to_a = [@queue, @resolve, @connect, @tls, @write, @first_byte, @total, @gvl]
      end
    end
  end
end
