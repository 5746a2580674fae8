# frozen_string_literal: true

require_relative "../../lock"

module Trunkline
  module Policy
    class Hedge
      # Quantiles of the durations of the last minutes, with an error of up to 2.5 %: a histogram whose buckets grow by
      # 5 %, in time slices, of which the oldest is dropped. Safe for use by several threads. docs/decisions/0009
      # explains why no gem is used.
      class Quantile
        # Length of a slice in seconds.
        SLICE = 30.0
        # Number of slices, including the one being filled.
        SLICES = 4
        # Upper bound of the first bucket, in seconds.
        LEAST = 0.00001
        GROWTH = Math.log(1.05)
        # The last bucket begins at 1000 seconds.
        BUCKETS = 379
        # A quantile is computed again when the number of durations has grown by this factor.
        STALE = 1.02
        # Quantiles that #to_h returns.
        REPORTED = { p50: 0.5, p95: 0.95, p99: 0.99 }.freeze
        private_constant :SLICE, :SLICES, :LEAST, :GROWTH, :BUCKETS, :STALE, :REPORTED

        def initialize
          @lock = Lock.new
          @slices = Array.new(SLICES) { Array.new(BUCKETS, 0) }
          @all = Array.new(BUCKETS, 0)
          @count = 0
          @slice = nil
          @computed = {}
        end

        # @param seconds [Float] a duration
        # @param now [Float] monotonic seconds
        # @return [void]
        def add(seconds, now)
          bucket = seconds <= LEAST ? 0 : [(Math.log(seconds / LEAST) / GROWTH).ceil, BUCKETS - 1].min
          @lock.synchronize do
            drop_old_slices(now)
            @slices[@slice % SLICES][bucket] += 1
            @all[bucket] += 1
            @count += 1
          end
        end

        # @param now [Float] monotonic seconds
        # @return [Integer] durations in the current slices
        def count(now)
          @lock.synchronize do
            drop_old_slices(now)
            @count
          end
        end

        # @param share [Float] for example 0.95: 95 % of the durations do not exceed the result
        # @param now [Float] monotonic seconds
        # @return [Float, nil] seconds; nil when there are no durations
        def quantile(share, now)
          @lock.synchronize do
            drop_old_slices(now)
            next if @count.zero?

            seconds, count = @computed[share]
            next seconds if count && @count < count * STALE

            compute(share).tap { |found| @computed[share] = [found, @count] }
          end
        end

        # @return [Hash{Symbol => Object}] count: durations in the slices, p50:, p95: and p99: in seconds
        def to_h
          @lock.synchronize do
            { count: @count, **REPORTED.transform_values { |share| compute(share) if @count.positive? } }
          end
        end

        private

        def compute(share)
          rank = (share * @count).ceil.clamp(1, @count)
          @all.each_with_index do |number, bucket|
            return LEAST * Math.exp(GROWTH * (bucket - 0.5)) if (rank -= number) <= 0
          end
        end

        # Empties the slices that are too old. A time before the current slice counts as within it.
        def drop_old_slices(now)
          slice = (now / SLICE).floor
          @slice ||= slice
          return if slice <= @slice

          [slice - @slice, SLICES].min.times { |ahead| empty(@slices[(@slice + ahead + 1) % SLICES]) }
          @slice = slice
          @computed.clear
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
