# frozen_string_literal: true

require_relative "competitors"
require_relative "figure"
require_relative "paired_samples"
require_relative "benchmark_options"

module Bench
  # The context of every group of figures: the origin, how much to measure, and where to add the results.
  class Suite
    attr_reader :origin, :options, :figures, :missing, :versions, :failures

    def initialize(origin, options)
      @origin = origin
      @options = options
      @figures = []
      @missing = {}
      @versions = {}
      @failures = []
    end

    def add(figure)
      figures << figure
      say_result(figure)
    end

    # Adds a figure for which lower is better.
    def add_cost(title, samples, what, unit, **rest)
      add(Figure.of(samples, name: "#{title}: #{what}", unit: unit, better: "lower", **rest))
    end

    # Runs one group. When it fails, it is reported as missing, and the other groups still run.
    def run(group)
      say "\n#{group.title}"
      group.call(self)
    rescue PeerProcess::Failed, Tools::Failed, PairedSamples::Failed => error
      missing[group.title] = error.message
      failures << group.title
      say "  failed: #{error.message}"
    end

    # Yields our client in a separate process.
    def with_ours(**options)
      process = PeerProcess.new(Peers::Trunkline, **options)
      yield process
    ensure
      process&.stop
    end

    def below_bar = figures.select { |figure| figure.holds == false }

    def repeat(&block) = Array.new(options.repeats, &block)

    def peers
      Peer.all.select { |peer| options.peers.nil? || options.peers.include?(peer.id) || peer == Peers::Trunkline }
    end

    def say(text) = warn(text)

    private

    def say_result(figure)
      verdict = { true => "holds", false => "DOES NOT HOLD", nil => "" }.fetch(figure.holds)
      bar = figure.bar && " (#{figure.better == "higher" ? "at least" : "at most"} #{figure.bar})"
      value = figure.value.round(2).to_s.rjust(10)
      say "  #{figure.name.ljust(66)} #{value} #{figure.unit}#{bar} #{verdict}".rstrip
    end
  end
end
