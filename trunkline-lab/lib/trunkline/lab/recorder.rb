# frozen_string_literal: true

require_relative "clock"
require_relative "intervals"

module Trunkline
  module Lab
    # Counts calls by latency (with three significant digits), by status and by error. It runs in the worker, which has
    # only the peer's gems, so it uses no gem and returns Hashes that can be encoded as JSON.
    class Recorder
      PHASES = %i[connect processing waiting].freeze

      attr_reader :completed
      # Number of connections that the client has opened, if it reports that.
      attr_writer :opened

      # @param interval [Integer, nil] number of calls in the first intervals; nil for no intervals
      def initialize(interval: nil)
        @intervals = interval && Intervals.new(interval)
        @latency = Hash.new(0)
        @corrected = Hash.new(0)
        @phases = PHASES.to_h { |phase| [phase, Hash.new(0)] }
        @statuses = Hash.new(0)
        @errors = Hash.new(0)
        @bytes = @opened = @head_bytes = @completed = 0
        @lengths = Hash.new(0)
        @lock = Mutex.new
      end

      # Times the block, which returns status and body size, or raises.
      def time
        started = Clock.now
        status, bytes = yield
        finished = Clock.now
        @lock.synchronize { record(finished - started, status, bytes) }
      rescue StandardError => error
        @lock.synchronize { failed(error.class.name) }
      end

      # @param seconds [Float]
      def record(seconds, status, bytes)
        latency = rounded(seconds)
        @latency[latency] += 1
        @intervals&.record(latency)
        @statuses[status] += 1
        @lengths[bytes] += 1
        @bytes += bytes
        @completed += 1
      end

      # Records the latency that the caller would have seen: from the time at which the call should have started.
      def correct(seconds) = @corrected[rounded(seconds)] += 1

      def phase(name, seconds) = @phases[name][rounded(seconds)] += 1

      # Sets the size of a response head; all heads are assumed to have the same size.
      def head(bytes) = @head_bytes = bytes

      def head? = @head_bytes.positive?

      def failed(name)
        @errors[name] += 1
        @intervals&.record(nil)
        @completed += 1
      end

      def to_h
        { latency: @latency, corrected: @corrected, phases: @phases, statuses: @statuses, errors: @errors,
          bytes: @bytes, head_bytes: @head_bytes, length: @lengths.max_by(&:last)&.first,
          other_lengths: @lengths.each_value.sum - @lengths.each_value.max.to_i, opened: @opened,
          intervals: @intervals.to_a }
      end

      private

      def rounded(seconds)
        microseconds = (seconds * 1e6).round
        return [microseconds, 0].max if microseconds < 1000

        digits = Math.log10(microseconds).floor - 2
        microseconds.round(-digits)
      end
    end
  end
end
