# frozen_string_literal: true

require_relative "figure"
require_relative "paired_samples"

module Bench
  # Turns paired samples into figures: how many times faster our client is than each other client, the CPU of its
  # requests relative to that of each other client, and the CPU that a request costs each of them.
  class Comparison
    FASTER_TYPHOEUS = "Typhoeus, the faster pair"

    # @param title [String] of the group that the figures make
    # @param bars [Hash{String => Array}] label => how many times faster our client must be, and the target
    # @param cpu_bars [Hash{String => Array}] label => the highest CPU per request relative to that client's, and the
    #   target; only the clients named here get this figure
    def initialize(suite, title:, bars: {}, cpu_bars: {})
      @suite = suite
      @title = title
      @bars = bars
      @cpu_bars = cpu_bars
    end

    # Times all competitors against the first, our client, and adds the figures.
    # @return [PairedSamples]
    def call(competitors)
      options = @suite.options
      pairs = PairedSamples.new(competitors, ours: competitors.members.first, repeats: options.repeats,
                                             seconds: options.seconds)
      add_ratios(pairs)
      pairs.by_member.each { |member, taken| add_cpu_ratio(member, taken) if @cpu_bars.key?(member.label) }
      competitors.members.each { |member| add_cost(member, pairs) }
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

    def add_cpu_ratio(member, pairs)
      bar, reach = @cpu_bars[member.label]
      @suite.add_cost(@title, pairs.map(&:times_the_cpu), "CPU per request against #{member.label}'s", "x",
                      bar: bar, reach: reach)
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
