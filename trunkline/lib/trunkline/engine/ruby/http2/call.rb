# frozen_string_literal: true

require_relative "../../../redacted"

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # A call on a shared connection. The connection's lock guards it.
        class Call
          include Redacted

          # @return [Connection]
          attr_reader :connection
          # @return [Waker, IOWaker] the waker of its driver
          attr_reader :waker
          # @return [Stream, nil]
          attr_accessor :stream
          # Whether its driver is a fiber, whose thread may be busy: other calls are preferred as the leader.
          attr_accessor :fiber_driven
          # When the last byte of the request was written; nil: not yet.
          attr_accessor :sent_at
          # Whether it leads, and the events that its driver waits for on the socket; whether it follows; whether
          # something arrived for it; whether this step has read all available bytes; whether more can be done at once.
          attr_accessor :leading, :events, :follows, :has_input, :drained, :again

          # @param never_leads [Boolean] whether the call never leads
          def initialize(connection, waker, never_leads: false)
            @connection = connection
            @waker = waker
            @never_leads = never_leads
            @leading = @follows = @has_input = @drained = @again = false
          end

          def away? = @waker.away?

          def never_leads? = @never_leads

          # Records that something arrived for the call, and wakes its driver if that waits for the waker.
          def note_input
            return if @has_input

            @has_input = true
            @waker.wake if @follows || (@leading && @waker.respond_to?(:io))
          end
        end
      end
    end
  end
end
