# frozen_string_literal: true

require "minitest/autorun"
require "yaml"

$LOAD_PATH.unshift File.expand_path("../../lib", __dir__)
require "trunkline"
require_relative "../support/limiter_simulator"

# The limiter against the simulator: time is virtual, so no figure depends on the machine. TRUNKLINE_SEEDS=200 runs each
# scenario with that many seeds.
class TestLimiterSimulation < Minitest::Test
  SCENARIOS = YAML.load_file(File.join(__dir__, "scenarios.yml")).freeze
  SEEDS = (1..Integer(ENV.fetch("TRUNKLINE_SEEDS", "3")))
  SECONDS = 40
  # Seconds that the limiter has to find its limit, at the start and after a change.
  GRACE = 5
  # The fixed limits among which the best is searched.
  TRIED = [2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 50, 64, 80, 100, 200, 250, 320].freeze

  # A time span in which the server does not change: the limit known to be best, the highest goodput of a fixed limit in
  # responses per second, and the lowest of the limits tried that reaches 95 % of it.
  Span = Struct.new(:from, :to, :best, :goodput, :found) do
    def share(run) = run.goodput_between(from + GRACE, to) / goodput
    def limit(run) = run.mean_limit(from + GRACE, to) / best
  end

  class << self
    def spans(scenario)
      @spans ||= {}
      @spans[scenario["name"]] ||= begin
        starts = [0, *%w[workers service].flat_map { |name| Array(scenario[name]).grep(Array).map(&:first) }].uniq
        known = Array(scenario["best"])
        starts.zip(starts.drop(1) << SECONDS, known).map do |from, to, best|
          Span.new(from, to, best, *found(scenario, from, to))
        end
      end
    end

    def runs(scenario)
      @runs ||= {}
      @runs[scenario["name"]] ||= SEEDS.map do |seed|
        Simulator.new(scenario, seed: seed).run(SECONDS) do |now|
          Trunkline::Limiter.new(now, maximum: most(scenario))
        end
      end
    end

    private

    def most(scenario) = scenario.fetch("max", 200)

    # With a rate limit, that rate is the goodput to reach; only in a long run does its initial burst have little
    # weight.
    def found(scenario, from, to)
      to = [to, from + 8].min unless scenario["rate"] || scenario["best"].is_a?(Array)
      tried = TRIED.select { |limit| limit <= most(scenario) }.to_h do |limit|
        [limit, fixed(scenario, limit, to).goodput_between(from, to)]
      end
      most = tried.values.max
      [scenario["rate"] || most, tried.find { |_, goodput| goodput >= 0.95 * most }.first]
    end

    # A run that was long enough for one span is reused for the others.
    def fixed(scenario, limit, seconds)
      @fixed ||= {}
      known = @fixed[[scenario["name"], limit]]
      return known if known && known.seconds >= seconds

      seconds = SECONDS if scenario["best"].is_a?(Array)
      @fixed[[scenario["name"], limit]] = Simulator.new(scenario, seed: 99).run(seconds) { Simulator::Fixed.new(limit) }
    end
  end

  SCENARIOS.each do |scenario|
    name = scenario["name"].tr(" -", "_")

    define_method(:"test_#{name}_simulator_finds_the_known_best_limit") do
      self.class.spans(scenario).each { |span| assert_in_delta 1.0, span.found.fdiv(span.best), 0.3, span.inspect }
    end

    define_method(:"test_#{name}_goodput_is_near_the_best_fixed_limit") do
      each_run(scenario) do |run, seed|
        assert_operator share_of_best(scenario, run), :>=, 0.8, "seed #{seed}"
      end
    end

    define_method(:"test_#{name}_rejects_are_few") do
      each_run(scenario) { |run, seed| assert_operator run.reject_share, :<, 0.02, "seed #{seed}" }
    end

    define_method(:"test_#{name}_goodput_is_back_within_five_seconds") do
      each_span(scenario) do |span, run, what|
        assert_operator span.share(run), :>=, 0.8, what
      end
      self.class.spans(scenario).each do |span|
        shares = self.class.runs(scenario).map { |run| span.share(run) }
        assert_operator mean(shares), :>=, 0.85, "from #{span.from + GRACE} s to #{span.to} s: #{shares}"
      end
    end

    # With a rate limit, the limiter follows the rate, and the number in flight results from that.
    next if scenario["rate"]

    define_method(:"test_#{name}_limit_is_near_the_best_within_five_seconds") do
      each_span(scenario) { |span, run, what| assert_includes 0.7..2.0, span.limit(run), what }
    end
  end

  # One turn of the client's event loop costs as much as two responses, and handles all responses that have arrived: so
  # each higher limit gives a little more goodput.
  def test_a_client_that_is_busy_itself_has_enough_in_flight
    busy = { "name" => "busy client", "workers" => 50, "service" => 0.0005, "spread" => "exponential",
             "client" => 0.001, "turn" => 0.002, "max" => 64, "best" => 32 }
    most = self.class.spans(busy).first.goodput
    each_run(busy) do |run, seed|
      assert_operator run.goodput_between(GRACE, SECONDS), :>=, 0.84 * most, "seed #{seed}"
    end
  end

  def test_mean_goodput_over_all_scenarios
    shares = SCENARIOS.flat_map { |scenario| self.class.runs(scenario).map { |run| share_of_best(scenario, run) } }
    assert_operator mean(shares), :>=, 0.92
  end

  private

  def each_span(scenario)
    self.class.spans(scenario).each do |span|
      each_run(scenario) { |run, seed| yield span, run, "seed #{seed}, from #{span.from + GRACE} s to #{span.to} s" }
    end
  end

  def each_run(scenario, &block) = self.class.runs(scenario).zip(SEEDS).each(&block)
  def mean(values) = values.sum / values.size

  # The share of the possible goodput over the whole run, so that the cost of the limiter's search is included.
  def share_of_best(scenario, run)
    possible = self.class.spans(scenario).sum { |span| span.goodput * (span.to - span.from) }
    run.goodput_between(0, SECONDS) * SECONDS / possible
  end
end
