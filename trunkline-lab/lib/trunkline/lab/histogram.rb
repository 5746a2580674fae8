# frozen_string_literal: true

require "HDRHistogram"

module Trunkline
  module Lab
    # Latencies in microseconds, with three significant digits, up to 2,000 s (an HDR histogram).
    class Histogram
      LONGEST = 2_000_000_000 # maximum of the gem

      # The gem's class has no allocator function; Ruby 3.2 and newer warn about that when its first object is created.
      def self.warned_about
        verbose = $VERBOSE
        $VERBOSE = nil
        HDRHistogram.new(1, 2, 1)
      ensure
        $VERBOSE = verbose
      end
      private_class_method :warned_about
      warned_about

      # @param counts [Hash] microseconds => count
      def self.of(counts)
        new.tap { |histogram| counts.each { |value, count| histogram.record(value.to_s.to_i, count) } }
      end

      def initialize
        @hdr = HDRHistogram.new(1, LONGEST, 3)
        @counts = Hash.new(0)
      end

      def record(microseconds, count = 1)
        value = microseconds.clamp(0, LONGEST)
        count.times { @hdr.record(value) }
        @counts[value] += count
      end

      def merge(other)
        other.counts.each { |value, count| record(value, count) }
        self
      end

      # @param share [Float] 0..100
      # @return [Integer] microseconds
      def percentile(share) = size.zero? ? 0 : @hdr.percentile(share)

      def size = @counts.each_value.sum
      def empty? = @counts.empty?
      def min = @counts.keys.min || 0
      def max = @counts.keys.max || 0
      def mean = size.zero? ? 0.0 : @hdr.mean
      def deviation = size.zero? ? 0.0 : @hdr.stddev
      def median = percentile(50)

      # @return [Hash{Integer => Integer}] microseconds => count; results store it, because it can be merged
      attr_reader :counts
    end
  end
end
