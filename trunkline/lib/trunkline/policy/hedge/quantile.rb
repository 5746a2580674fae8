# frozen_string_literal: true

require_relative "../../lock"

module Trunkline
  module Policy
    class Hedge
      # Quantiles of the durations of the last minutes, within 2.5 %: a histogram whose buckets grow by 5 %, in slices
      # of time, of which the oldest is forgotten. Safe for use by several threads. docs/decisions/0009 says why it is
      # no gem.
      class Quantile
        # Seconds that a slice takes.
        SLICE = 30.0
        # Slices that are kept, the one that is being filled included.
        SLICES = 4
        # The duration, in seconds, where the first bucket ends.
        LEAST = 0.00001
        GROWTH = Math.log(1.05)
        # The last begins at 1000 seconds.
        BUCKETS = 379
        # A quantile is worked out again when the durations have become so many times as many.
        STALE = 1.02
        # Quantiles that #to_h tells.
        TOLD = { p50: 0.5, p95: 0.95, p99: 0.99 }.freeze
        private_constant :SLICE, :SLICES, :LEAST, :GROWTH, :BUCKETS, :STALE, :TOLD

        def initialize
          @lock = Lock.new
          @slices = Array.new(SLICES) { Array.new(BUCKETS, 0) }
          @all = Array.new(BUCKETS, 0)
          @count = 0
          @slice = nil
          @known = {}
        end

        # @param seconds [Float] a duration
        # @param now [Float] monotonic seconds
        # @return [void]
        def add(seconds, now)
          bucket = seconds <= LEAST ? 0 : [(Math.log(seconds / LEAST) / GROWTH).ceil, BUCKETS - 1].min
          @lock.synchronize do
            forget(now)
            @slices[@slice % SLICES][bucket] += 1
            @all[bucket] += 1
            @count += 1
          end
        end

        # @param now [Float] monotonic seconds
        # @return [Integer] durations that are not forgotten
        def count(now)
          @lock.synchronize do
            forget(now)
            @count
          end
        end

        # @param share [Float] 0.95 for the duration that 95 % of them do not exceed
        # @param now [Float] monotonic seconds
        # @return [Float, nil] seconds; nil when there are no durations
        def quantile(share, now)
          @lock.synchronize do
            forget(now)
            next if @count.zero?

            seconds, count = @known[share]
            next seconds if count && @count < count * STALE

            work_out(share).tap { |found| @known[share] = [found, @count] }
          end
        end

        # @return [Hash{Symbol => Object}] count: of durations at the last change, p50:, p95: and p99: in seconds
        def to_h
          @lock.synchronize do
            { count: @count, **TOLD.transform_values { |share| work_out(share) if @count.positive? } }
          end
        end

        private

        def work_out(share)
          rank = (share * @count).ceil.clamp(1, @count)
          @all.each_with_index do |number, bucket|
            return LEAST * Math.exp(GROWTH * (bucket - 0.5)) if (rank -= number) <= 0
          end
        end

        # Empties the slices that are too old. A time that is earlier than the last is taken as the last.
        def forget(now)
          slice = (now / SLICE).floor
          @slice ||= slice
          return if slice <= @slice

          [slice - @slice, SLICES].min.times { |ahead| empty(@slices[(@slice + ahead + 1) % SLICES]) }
          @slice = slice
          @known.clear
        end

        def empty(counts)
          counts.each_with_index do |number, bucket|
            next if number.zero?

            @all[bucket] -= number
            @count -= number
          end
          counts.fill(0)
        end
      end
    end
  end
end
