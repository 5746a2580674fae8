# frozen_string_literal: true

require_relative "../attempt"
require_relative "../engine"
require_relative "../redacted"

module Trunkline
  module Policy
    # The requests that a call has sent so far. The attempts are built only when they are read. Frozen.
    #
    # @api private
    class Log
      include Redacted

      # One request that was sent. began and ended are monotonic seconds. result is nil when the request was cancelled.
      # reason is an Attempt#reason, or nil for the one that the engine reports. waited is how many seconds policies
      # delayed the request. states are those of the probes.
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
      # @return [Log] with this lap added
      def with(lap) = Log.new([*@laps, lap].freeze)

      # @return [Log] of the first laps
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

      # @return [Symbol] how much of a request servers may have received, over all attempts: :all, :partial or :none
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
