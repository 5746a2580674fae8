# frozen_string_literal: true

require_relative "../attempt"
require_relative "../engine"
require_relative "../redacted"

module Trunkline
  module Policy
    # What a call has sent so far. Its attempts are worked out when somebody asks for them. Frozen.
    #
    # @api private
    class Log
      include Redacted

      # One request that was sent: when (monotonic seconds), its result, nil when it was cancelled; why (see
      # Attempt#reason), nil for what the engine tells; how long it waited for its policies before;
      # and the states of probes.
      Lap = Struct.new(:request, :began, :ended, :result, :reason, :waited, :states) { include Redacted }

      # @return [Array<Lap>]
      attr_reader :laps

      # @param laps [Array<Lap>]
      def initialize(laps)
        @laps = laps
        freeze
      end

      NONE = new([].freeze)

      # @return [Integer]
      def size = @laps.size

      # @param lap [Lap]
      # @return [Log] with one more
      def with(lap) = Log.new([*@laps, lap].freeze)

      # @return [Log] of the first ones
      def first(count) = Log.new(@laps.first(count).freeze)

      # @return [Array<Attempt>]
      def attempts
        attempts = []
        @laps.each do |lap|
          rows = rows_of(lap)
          rows.each_with_index do |row, index|
            attempts << row.with(number: attempts.size + 1, **told(lap, row, index.zero?, index == rows.size - 1))
          end
        end
        attempts.freeze
      end

      # @return [Symbol] what servers can have seen, of all attempts
      def sent
        states = @laps.flat_map { |lap| rows_of(lap).map(&:sent) }
        %i[all partial].find { |state| states.include?(state) } || :none
      end

      private

      def rows_of(lap)
        lap.result ? lap.result._own_attempts : [Attempt.new(1, :first, nil, :partial, "Cancelled")]
      end

      def told(lap, row, first, last)
        told = {}
        told.update(reason: lap.reason || row.reason, waited: (row.waited || 0.0) + lap.waited) if first
        told.update(started_at: Time.now - (Engine.now - lap.began), elapsed: lap.ended - lap.began) if last
        told
      end
    end
  end
end
