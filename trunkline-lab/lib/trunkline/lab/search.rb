# frozen_string_literal: true

require_relative "statistics"

module Trunkline
  module Lab
    # Finds the smallest concurrency that reaches 95 % of the best goodput: doubles it while goodput grows, then halves
    # the gaps. The samples come from a block, so the class does not depend on HTTP.
    class Search
      ENOUGH = 0.95
      GROWTH = 1.05
      CPU_BAR = 0.9 # of a core: a client above this is the limit
      REFUSED = 0.01 # of the calls: a server with a larger share of 429 and 503 counts as refusing
      GROWING = 0.75 # of the best goodput: a smaller share at half the calls means that goodput was still growing

      # The samples of one concurrency.
      Point = Struct.new(:concurrency, :samples) do
        def rates = samples.map { |sample| sample[:good] / sample[:wall] }
        def goodput = Statistics.median(rates)
        def total(name) = samples.sum { |sample| sample[name] }
        def cpu = total(:cpu) / total(:wall)
        def refused = total(:refused) / total(:requests).to_f
        def failed = total(:failed) / total(:requests).to_f
        def latency = Statistics.median(samples.map { |sample| sample[:latency] })
        def acceptable? = refused <= REFUSED && failed <= REFUSED
      end

      attr_reader :points

      # @param most [Integer] the highest concurrency that may be tried
      # @param sample [#call] takes a concurrency; returns Hashes with requests, good, refused (429, 503), failed, wall,
      #   cpu and latency (seconds), one for each repeat
      def initialize(most:, &sample)
        @most = most
        @sample = sample
        @points = {}
      end

      # @return [Point] the smallest concurrency that is good enough
      def run
        climb
        narrow_down
        narrow_up
        answer
      end

      def best = @points.each_value.select(&:acceptable?).max_by(&:goodput) || @points.each_value.min_by(&:refused)

      # The smallest and the largest concurrency tried that are good enough.
      # @return [Array(Integer, Integer)]
      def plateau = good_enough.map(&:concurrency).minmax

      def answer = good_enough.min_by(&:concurrency)

      # @return [Integer] by Little's law: the best goodput times the shortest latency
      def little = (best.goodput * @points.each_value.select(&:acceptable?).map(&:latency).min.to_f).ceil

      # @return [Symbol] :refusal, :cpu, :ceiling or :server
      def limiter
        return :cpu if best.cpu >= CPU_BAR
        return :refusal if refused_from && grew_until_refused?
        return :ceiling if answer.concurrency > @most * ENOUGH

        :server
      end

      # @return [Integer, nil] the smallest concurrency at which the server refused calls
      def refused_from = @points.each_value.select { |point| point.refused > REFUSED }.map(&:concurrency).min

      private

      def at(concurrency)
        @points[concurrency] ||= Point.new(concurrency, @sample.call(concurrency))
      end

      # Doubles the concurrency until two doublings in a row bring no growth, or the server refuses.
      def climb
        step = 1
        flat = 0
        top = at(step).goodput
        while flat < 2 && step < @most
          point = at(step = [step * 2, @most].min)
          break unless point.acceptable?

          flat = point.goodput > top * GROWTH ? 0 : flat + 1
          top = [top, point.goodput].max
        end
      end

      # Searches between the largest concurrency that is not good enough and the smallest that is.
      def narrow_down
        loop do
          high = answer.concurrency
          low = @points.keys.select { |tried| tried < high }.max or return
          return if high - low <= [1, high / 10].max

          at((low + high) / 2)
        end
      end

      # Searches the end of the plateau: between its largest concurrency and the smallest one beyond it.
      def narrow_up
        loop do
          low = plateau.last
          high = @points.keys.select { |tried| tried > low }.min or return
          return if high - low <= [1, low / 4].max

          at((low + high) / 2)
        end
      end

      # Whether goodput still grew up to the concurrency at which refusals began: at half the largest acceptable
      # concurrency, or less, it must be clearly lower. On a plateau, noise may put any of the medians first, but not
      # that far above the others.
      def grew_until_refused?
        half = largest_acceptable / 2.0
        @points.each_value.none? { |point| point.concurrency <= half && point.goodput > best.goodput * GROWING }
      end

      def bar = best.goodput * ENOUGH

      # A single sample above the bar is sufficient, because the others may have been disturbed by noise; where more
      # calls in flight still increase goodput, every sample is below the bar.
      def maybe_enough?(point) = point.acceptable? && point.rates.max >= bar

      def good_enough
        enough = @points.each_value.select { |point| maybe_enough?(point) }
        enough.empty? ? [best] : enough
      end

      def largest_acceptable = @points.each_value.select(&:acceptable?).map(&:concurrency).max || 1
    end
  end
end
