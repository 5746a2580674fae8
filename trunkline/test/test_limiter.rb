# frozen_string_literal: true

require "minitest/autorun"
require "yaml"

$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "trunkline"
require_relative "limiter/simulator"

# The limiter against the simulator: virtual time, so a figure here depends on no machine.
class TestLimiterSimulation < Minitest::Test
  SCENARIOS = YAML.load_file(File.join(__dir__, "limiter/scenarios.yml")).freeze
  SEEDS = ENV.fetch("TRUNKLINE_SEEDS", "1,2").split(",").map(&:to_i).freeze
  SECONDS = 40
  # The limiter is given this long to find its limit, at the start and after a change.
  GRACE = 5
  # What fixed limits are tried, to find the best.
  TRIED = [2, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 50, 64, 80, 100, 200, 250, 320].freeze

  class << self
    # [from, to, goodput of the best fixed limit, that limit] for each time in which the server stays as it is.
    def best(scenario)
      @best ||= {}
      @best[scenario["name"]] ||= spans(scenario).map { |from, to| [from, to, *best_in(scenario, from, to)] }
    end

    def runs(scenario)
      @runs ||= {}
      @runs[scenario["name"]] ||= SEEDS.map do |seed|
        Simulator.new(scenario, seed: seed).run(SECONDS) do |now|
          Trunkline::Limiter.new(now, maximum: most(scenario))
        end
      end
    end

    def most(scenario) = scenario.fetch("max", 200)

    private

    def spans(scenario)
      changes = Array(scenario["workers"]).flatten.size > 1 ? scenario["workers"].map(&:first) : [0]
      changes.each_with_index.map { |from, index| [from, changes[index + 1] || SECONDS] }
    end

    def best_in(scenario, from, to)
      to = [to, from + 8].min
      found = TRIED.select { |limit| limit <= most(scenario) }.to_h do |limit|
        [limit, fixed(scenario, limit, to).goodput_between(from, to)]
      end
      best = found.values.max
      [best, found.find { |_, goodput| goodput >= 0.95 * best }.first]
    end

    # What is known of a scenario in one span is known of the others as well.
    def fixed(scenario, limit, seconds)
      @fixed ||= {}
      known = @fixed[[scenario["name"], limit]]
      return known if known && known.seconds >= seconds

      longest = spans(scenario).size > 1 ? SECONDS : seconds
      @fixed[[scenario["name"], limit]] = Simulator.new(scenario, seed: 99).run(longest) { Simulator::Fixed.new(limit) }
    end
  end

  SCENARIOS.each do |scenario|
    name = scenario["name"].tr(" -", "_")

    if scenario["best"]
      define_method(:"test_#{name}_simulator_finds_the_known_best_limit") do
        _, _, _, limit = self.class.best(scenario).first
        assert_in_delta 1.0, limit.fdiv(scenario["best"]), 0.3, "best fixed limit #{limit}"
      end
    end

    define_method(:"test_#{name}_goodput_is_near_the_best_fixed_limit") do
      each_run(scenario) do |run, seed|
        assert_operator share_of_best(scenario, run), :>=, 0.8, "seed #{seed}"
      end
    end

    define_method(:"test_#{name}_rejects_are_few") do
      each_run(scenario) { |run, seed| assert_operator run.reject_share, :<, 0.02, "seed #{seed}" }
    end

    # A rate is no matter of a limit; and what is in flight while a smaller server is found out costs nobody anything.
    next if scenario["rate"]

    define_method(:"test_#{name}_limit_is_near_the_best") do
      from, to, _, best = self.class.best(scenario).first
      each_run(scenario) do |run, seed|
        assert_includes 0.7..2.0, run.mean_limit(from + GRACE, to) / best, "limit over best (#{best}), seed #{seed}"
      end
    end

    define_method(:"test_#{name}_recovers_within_five_seconds") do
      self.class.best(scenario).each do |from, to, best,|
        after = mean(self.class.runs(scenario).map { |run| run.goodput_between(from + GRACE, to) })
        assert_operator after / best, :>=, 0.85, "from #{from + GRACE} s to #{to} s"
      end
    end
  end

  def test_mean_goodput_over_all_scenarios
    shares = SCENARIOS.flat_map { |scenario| self.class.runs(scenario).map { |run| share_of_best(scenario, run) } }
    assert_operator mean(shares), :>=, 0.92
  end

  private

  def each_run(scenario, &block) = self.class.runs(scenario).zip(SEEDS).each(&block)
  def mean(values) = values.sum / values.size

  # Over the whole run: what the search costs counts.
  def share_of_best(scenario, run)
    possible = self.class.best(scenario).sum { |from, to, best,| best * (to - from) }
    run.goodput_between(0, SECONDS) * SECONDS / possible
  end
end
