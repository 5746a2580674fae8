# frozen_string_literal: true

require_relative "figure"
require_relative "pairs"

module Bench
  # Turns pairs into figures: how many times faster ours is than each other member, and what a request costs each.
  class Comparison
    FASTER_TYPHOEUS = "Typhoeus, the faster pair"

    # @param title [String] of the group that the figures make
    # @param bars [Hash{String => Array}] label => what must hold, and what to reach for
    def initialize(suite, title:, bars: {})
      @suite = suite
      @title = title
      @bars = bars
    end

    # Times all members of a cast against its first, ours, and adds the figures.
    # @return [Pairs]
    def call(cast)
      ours = cast.members.first
      pairs = Pairs.new(cast, ours: ours, repeats: @suite.settings.repeats, seconds: @suite.settings.seconds)
      add_ratios(pairs)
      cast.members.each { |member| add_cost(member, pairs) }
      pairs
    end

    private

    def add_ratios(pairs)
      ratios = pairs.by_member.to_h { |member, taken| [member.label, taken.map(&:times_faster)] }
      ratios.each { |label, samples| add_ratio(samples, label) }
      both_of_typhoeus = ratios.select { |label, _| label.start_with?("Typhoeus") }.values
      return if both_of_typhoeus.empty?

      add_ratio(both_of_typhoeus.min_by { |samples| Statistics.median(samples) }, FASTER_TYPHOEUS)
    end

    def add_ratio(samples, label)
      bar, reach = @bars[label]
      add(samples, label, "times faster than", "x", bar: bar, reach: reach)
    end

    def add_cost(member, pairs)
      samples = pairs.samples_of(member)
      return if samples.empty?

      rates = samples.map { |sample| sample[:requests] / sample[:wall] }
      cpu = samples.map { |sample| sample[:cpu] / sample[:requests] * 1e6 }
      add(rates, member.label, "requests/s of", "requests/s")
      add(cpu, member.label, "CPU of", "us/request", better: "lower")
    end

    def add(samples, client, what, unit, **rest)
      name = "#{@title}: #{what} #{client}"
      @suite.add(Figure.of(samples, name: name, unit: unit, group: @title, client: client, **rest))
    end
  end
end
