# frozen_string_literal: true

require_relative "../test_helper"

# The parts of the limiter, with a clock controlled by the test.
class TestLimiterParts < Minitest::Test
  Limiter = Trunkline::Limiter

  # Stands in for an Epoch that has ended.
  class Counted
    attr_reader :count, :seconds

    def initialize(count, seconds)
      @count = count
      @seconds = seconds
    end

    def error_of(count) = 1 / Math.sqrt(count)
  end

  def setup
    @limiter = Limiter.new(0.0, maximum: 64)
  end

  def test_the_limit_starts_at_sixteen
    assert_equal 16, fill(0.0)
    refute @limiter.ready?(0.0)
  end

  def test_the_limit_starts_at_most_at_its_maximum
    @limiter = Limiter.new(0.0, maximum: 5)
    assert_equal 5, fill(0.0)
  end

  def test_a_remembered_limit_is_where_it_starts
    @limiter = Limiter.new(0.0, maximum: 64, remembered: 7)
    assert_equal 7, fill(0.0)
    assert_equal :cruise, @limiter.to_h[:state]
  end

  def test_a_success_frees_a_slot
    fill(0.0)
    @limiter.on_success(0.1, 0.0, @limiter.generation)
    assert @limiter.ready?(0.1)
  end

  def test_the_limit_does_not_grow_when_it_is_not_reached
    now = 0.0
    400.times do
      @limiter.start(now)
      @limiter.on_success(now += 0.01, now - 0.01, @limiter.generation)
    end
    assert_equal 16, @limiter.limit
  end

  def test_overload_reduces_the_limit_to_half_in_a_round_trip
    fill(0.0)
    12.times { @limiter.on_overload(0.005, "503") }
    assert_equal 8, @limiter.limit
    assert_match(/\A503: from/, @limiter.to_h[:why])
  end

  def test_overload_does_not_reduce_the_limit_below_the_least
    fill(0.0)
    16.times { |second| @limiter.on_overload(second.to_f, "a timeout", least: 4) }
    assert_equal 4, @limiter.limit
    @limiter.start(16.0)
    @limiter.on_overload(16.0, "503")
    assert_equal 1, @limiter.limit
  end

  def test_a_base_latency_is_learnt_part_of_the_way_at_a_time
    base = Limiter::BaseLatency.new
    [0.2, 0.1, 0.3].each { |median| base.seen(median) }
    assert_in_delta 0.175, base.served(1, 1.0)
    base.slower(0.275)
    assert_in_delta 0.225, base.served(1, 1.0)
    base.unqueued(0.325)
    assert_in_delta 0.25, base.served(1, 1.0)
    base.faster(0.05)
    assert_in_delta 0.05, base.served(1, 1.0)
  end

  def test_a_baseline_counts_what_is_older_less
    base = Limiter::Baseline.new
    base.again(8)
    base.add(Counted.new(100, 1.0))
    base.again(8)
    base.add(Counted.new(350, 1.0))
    assert_in_delta (50 + 350) / 1.5, base.goodput
    assert_in_delta 0.05, base.error
    base.again(9)
    assert_nil base.goodput, "of another limit it tells nothing"
  end

  def test_a_maximum_may_be_raised
    @limiter = Limiter.new(0.0, maximum: 4)
    flying = Array.new(fill(0.0)) { [0.0, @limiter.generation] }
    flying.each_index { |index| flying[index] = [index / 200.0, 0] }
    @limiter.maximum = 100
    10_000.times do
      started, generation = flying.shift
      @limiter.on_success(started + 0.02, started, generation)
      fill(started + 0.02).times { flying << [started + 0.02, @limiter.generation] }
    end
    assert_includes 20..100, @limiter.limit
  end

  def test_latency_shows_queueing_at_the_server
    base = Limiter::BaseLatency.new
    base.seen(0.1)
    refute base.queued?(0.2)
    assert base.queued?(0.25)
    assert_in_delta 8, base.served(20, 0.25)
    refute base.too_long?(0.9)
    assert base.too_long?(1.1)
  end

  def test_retry_after_pauses_everything
    @limiter.start(0.0)
    @limiter.on_overload(0.0, "503", 2.0)
    refute @limiter.ready?(1.9)
    assert_in_delta 0.1, @limiter.wait(1.9), 0.001
    assert @limiter.ready?(2.0)
  end

  def test_a_retry_after_of_days_is_not_believed
    @limiter.start(0.0)
    @limiter.on_rate_limit(0.0, 1_000_000.0)
    assert @limiter.ready?(Limiter::LONGEST_PAUSE)
  end

  def test_a_fixed_limit_is_respected_and_a_refused_slot_pauses
    @limiter = Limiter.new(0.0, fixed: 4)
    assert_equal 4, fill(0.0)
    2.times { @limiter.on_overload(0.0, "503") }
    refute @limiter.ready?(0.005), "for a round trip"
    assert_equal 2, fill(0.02)
    assert_equal [4, :fixed], @limiter.to_h.values_at(:limit, :state)
  end

  def test_a_fixed_limit_waits_for_retry_after
    @limiter = Limiter.new(0.0, fixed: 4, in_flight: 1)
    @limiter.on_overload(0.0, "503", 2.0)
    refute @limiter.ready?(1.9)
    assert_equal 4, fill(2.0)
  end

  def test_one_429_teaches_no_rate_and_repeated_ones_do
    2.times { @limiter.start(0.0) }
    @limiter.on_rate_limit(0.1)
    assert_nil @limiter.to_h[:rate]
    @limiter.on_rate_limit(0.5)
    refute_nil @limiter.to_h[:rate]
  end

  def test_a_rate_lets_so_many_start_in_a_second
    rate = Limiter::Rate.new(100, 0.0)
    started = (0...1000).count { |step| (now = step / 1000.0) && rate.ready?(now) && rate.take(now) }
    assert_in_delta 100, started, 2
    rate.take(1.0)
    assert_in_delta 0.008, rate.wait(1.002), 0.001
  end

  def test_a_learnt_rate_falls_when_it_is_limited_and_comes_back
    rate = Limiter::LearntRate.new(50.0, 0.0)
    rate.on_rate_limit(1.0, 80.0, 0.05)
    assert_in_delta 68, rate.per_second, 1
    rate.ready?(5.0)
    assert_operator rate.per_second, :>, 75
  end

  def test_a_memory_forgets_the_oldest_and_what_is_old
    memory = Limiter::Memory.new
    facts = { limit: 5, state: :cruise }
    (Limiter::Memory::MOST + 1).times { |number| memory.keep("http://host#{number}", facts, 0.0) }
    assert_nil memory.recall("http://host0", 1.0)
    assert_equal 5, memory.recall("http://host1", 1.0)[:limit]
    assert_nil memory.recall("http://host1", Limiter::Memory::LONGEST + 1)
    assert_equal Limiter::Memory::MOST, memory.to_h.size
  end

  def test_a_memory_keeps_nothing_of_an_unfinished_start
    memory = Limiter::Memory.new
    memory.keep("http://host", { limit: 32, state: :start }, 0.0)
    assert_nil memory.recall("http://host", 1.0)
  end

  private

  def fill(now)
    started = 0
    while @limiter.ready?(now)
      @limiter.start(now)
      started += 1
    end
    started
  end
end
