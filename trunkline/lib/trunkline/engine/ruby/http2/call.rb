# frozen_string_literal: true

require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # A call on a connection that others share. The connection's lock guards it.
        class Call
          include Redacted

          # @return [Connection]
          attr_reader :connection
          # @return [Waker, Multi::Bell] its driver's
          attr_reader :waker
          # @return [Stream, nil]
          attr_accessor :stream
          # Whether its driver is a fiber, whose thread may be busy: others lead rather.
          attr_accessor :weak
          # When the last byte of the request was written; nil: not yet.
          attr_accessor :sent_at
          # Whether it leads, and what its driver waits for on the socket; whether it follows; whether something came
          # for it; whether this step has read all that was there; whether more can be done at once.
          attr_accessor :leads, :events, :follows, :touched, :drained, :again

          # @param passive [Boolean] whether it never leads
          def initialize(connection, waker, passive: false)
            @connection = connection
            @waker = waker
            @passive = passive
            @leads = @follows = @touched = @drained = @again = false
          end

          def away? = @waker.away?

          def passive? = @passive

          # Notes that something came; who waits for its waker is woken.
          def touch
            return if @touched

            @touched = true
            @waker.wake if @follows || (@leads && @waker.respond_to?(:io))
          end
        end
      end
    end
  end
end
