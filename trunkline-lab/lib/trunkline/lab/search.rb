# frozen_string_literal: true

require_relative "statistics"

module Trunkline
  module Lab
    # Finds the smallest concurrency that reaches 95 % of the best goodput: doubles while that helps, then halves the
    # gaps. Its samples come from a block; it has nothing to do with HTTP.
    class Search
      ENOUGH = 0.95
      GROWTH = 1.05
      CPU_BAR = 0.9 # of a core: from there the client is the limit
      REFUSED = 0.01 # of the calls: with a larger share of 429 and 503 the server counts as refusing
      GROWING = 0.75 # of the best goodput: a smaller share at half the calls means that they were still too few

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
      # @param sample [#call] given a concurrency; gives Hashes with requests, good, refused (429, 503), failed, wall,
      #   cpu and latency (seconds), one for each repeat
      def initialize(most:, &sample)
        @most = most
        @sample = sample
        @points = {}
      end

      # @return [Point] the smallest that is good enough
      def run
        climb
        narrow_down
        narrow_up
        answer
      end

      def best = @points.each_value.select(&:acceptable?).max_by(&:goodput) || @points.each_value.min_by(&:refused)

      # Smallest and largest that were tried and are as good.
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

      # Until two doublings in a row bring nothing, or the server refuses.
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

      # Between the largest that is not enough and the smallest that is.
      def narrow_down
        loop do
          high = answer.concurrency
          low = @points.keys.select { |tried| tried < high }.max or return
          return if high - low <= [1, high / 10].max

          at((low + high) / 2)
        end
      end

      # How far the plateau reaches: between its largest and the smallest beyond it.
      def narrow_up
        loop do
          low = plateau.last
          high = @points.keys.select { |tried| tried > low }.min or return
          return if high - low <= [1, low / 4].max

          at((low + high) / 2)
        end
      end

      # Whether goodput still grew where refusals began: half of the calls that the server takes brought clearly less.
      # On a plateau, noise may put any of the medians first, but not that far above the others.
      def grew_until_refused?
        half = largest_acceptable / 2.0
        @points.each_value.none? { |point| point.concurrency <= half && point.goodput > best.goodput * GROWING }
      end

      def bar = best.goodput * ENOUGH

      # One sample that is enough will do: the others may have met noise, and where more calls at once still bring more
      # every sample stays below the bar.
      def maybe_enough?(point) = point.acceptable? && point.rates.max >= bar

      def good_enough
        enough = @points.each_value.select { |point| maybe_enough?(point) }
        enough.empty? ? [best] : enough
      end

      def largest_acceptable = @points.each_value.select(&:acceptable?).map(&:concurrency).max || 1
    end
  end
end
