# frozen_string_literal: true

module Trunkline
  module Lab
    # Statistics that assume no particular distribution of the samples.
    module Statistics
      RESAMPLES = 2_000
      SEED = 1 # the same samples always give the same interval

      module_function

      def mean(values) = values.sum / values.size.to_f

      def median(values)
        sorted = values.sort
        middle = sorted.size / 2
        sorted.size.odd? ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0
      end

      # The quartiles: half of the samples lie between them.
      # @return [Array(Numeric, Numeric)]
      def spread(values)
        sorted = values.sort
        last = sorted.size - 1
        [sorted[(last * 0.25).floor], sorted[(last * 0.75).ceil]]
      end

      # The 95 % bootstrap interval of the median (percentile method).
      # @return [Array(Numeric, Numeric)]
      def interval(values)
        bootstrap { |random| median(resample(values, random)) }
      end

      # The 95 % bootstrap interval of the ratio of two medians.
      # @return [Array(Float, Float)]
      def ratio_interval(samples, others)
        bootstrap { |random| median(resample(samples, random)) / median(resample(others, random)).to_f }
      end

      # Mann-Whitney's U test, two-sided, with the normal approximation and corrections for ties and continuity. It is
      # not significant with fewer than four samples on a side.
      # @return [Float] probability of such a difference if there is none
      def mann_whitney(samples, others)
        ranks = ranks(samples + others)
        sizes = [samples.size, others.size]
        product = sizes.reduce(:*)
        deviation = Math.sqrt(product / 12.0 * tie_correction(ranks, sizes.sum))
        return 1.0 if deviation.zero? || deviation.nan?

        u = ranks.first(samples.size).sum - (samples.size * (samples.size + 1) / 2.0)
        two_sided([(u - (product / 2.0)).abs - 0.5, 0].max / deviation)
      end

      # @param distance [Float] from the mean of a normal distribution, in standard deviations
      def two_sided(distance) = Math.erfc(distance / Math.sqrt(2))

      def bootstrap
        random = Random.new(SEED)
        drawn = Array.new(RESAMPLES) { yield random }.sort
        [drawn[(RESAMPLES * 0.025).floor], drawn[(RESAMPLES * 0.975).ceil - 1]]
      end

      def resample(values, random) = Array.new(values.size) { values[random.rand(values.size)] }

      # Equal values share the mean of their ranks.
      def ranks(values)
        sorted = values.sort
        first = {}
        counts = sorted.tally
        sorted.each_with_index { |value, index| first[value] ||= index + 1 }
        values.map { |value| first[value] + ((counts[value] - 1) / 2.0) }
      end

      def tie_correction(ranks, total)
        ties = ranks.tally.each_value.sum { |count| (count**3) - count }
        total + 1 - (ties / (total * (total - 1)).to_f)
      end
    end
  end
end
