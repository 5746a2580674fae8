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
      ExchangeRecord = Struct.new(:request, :began, :ended, :result, :reason, :waited, :states) { include Redacted }

      # @return [Array<ExchangeRecord>]
      attr_reader :records

      # @param records [Array<ExchangeRecord>]
      def initialize(records)
        @records = records
        freeze
      end

      NONE = new([].freeze)

      # @return [Integer]
      def size = @records.size

      # @param record [ExchangeRecord]
      # @return [Log] with this record added
      def with(record) = Log.new([*@records, record].freeze)

      # @return [Log] of the first records
      def first(count) = Log.new(@records.first(count).freeze)

      # @return [Array<Attempt>]
      def attempts
        attempts = []
        @records.each do |record|
          rows = rows_of(record)
          rows.each_with_index do |row, index|
            more = added_members(record, row, index.zero?, index == rows.size - 1)
            attempts << row.with(number: attempts.size + 1, **more)
          end
        end
        attempts.freeze
      end

      # @return [Symbol] how much of a request servers may have received, over all attempts: :all, :partial or :none
      def sent
        states = @records.flat_map { |record| rows_of(record).map(&:sent) }
        %i[all partial].find { |state| states.include?(state) } || :none
      end

      private

      def rows_of(record)
        record.result ? record.result._exchange_attempts : [Attempt.new(1, :first, nil, :partial, "Cancelled")]
      end

      def added_members(record, row, first, last)
        members = {}
        members.update(reason: record.reason || row.reason, waited: (row.waited || 0.0) + record.waited) if first
        members.update(started_at: Time.now - (Engine.now - record.began), elapsed: record.ended - record.began) if last
        members
      end
    end
  end
end
