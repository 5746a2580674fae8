# frozen_string_literal: true

require_relative "test_helper"
require "logger"
require "stringio"
require_relative "support/servers"

# Limits of a fleet, with a real Redis.
class TestLimits < BulkTest
  Limits = Trunkline::Bulk::Limits
  Response = Struct.new(:status, :fields) do
    def [](name) = fields[name]
  end

  def setup
    super
    @redis = Server.redis or skip "redis-server is not installed (bin/setup)"
    @now = 1_000.0
    @fleet = []
  end

  def teardown
    @redis&.stop
    super
  end

  # Makes workers for which @now is the time, also in Redis.
  def fleet(count)
    count.times do
      shared = Limits::Redis.new(@redis.url, clock: -> { (@now * 1000).to_i })
      counter = self
      shared.define_singleton_method(:exchange) { |demands| counter.called && super(demands) }
      @fleet << Limits.new(shared, threaded: false)
    end
    @calls = 0
    @fleet
  end

  def called = @calls += 1

  # Lets each worker start as many requests as it may to each origin; a request takes `takes` seconds.
  # @return [Hash{String => Integer}] starts by origin
  def simulate(seconds, origins:, per_second: nil, in_flight: nil, takes: 0.05, tick: 0.01, fleet: @fleet)
    starts = Hash.new(0)
    steps = fleet.to_h { |limits| [limits, @now + (rand * 0.1)] }
    active = []
    (seconds / tick).round.times do
      @now += tick
      active.shift.then { |_, share, slot| share.ended(slot) } while active.any? && active[0][0] <= @now
      fleet.each do |limits|
        steps[limits] = @now + (limits.step(@now) || 0.1) if @now >= steps[limits]
        origins.each do |origin|
          share = limits.share(origin, per_second, in_flight)
          while (slot = share.reserve(@now, 0.0).last)
            starts[origin] += 1
            active << [@now + takes, share, slot]
          end
        end
      end
      yield active if block_given?
    end
    starts
  end

  def test_50_000_requests_a_second_need_less_than_100_calls
    fleet(16)
    origins = Array.new(50) { |number| "origin#{number}:443" }
    simulate(1, origins: origins, per_second: 1_000)
    @calls = 0
    starts = simulate(1, origins: origins, per_second: 1_000)
    assert_in_delta 50_000, starts.values.sum, 5_000
    assert_operator @calls, :<, 100
    starts.each { |origin, count| assert_in_delta 1_000, count, 150, origin }
  end

  def test_calls_do_not_grow_with_the_workers
    fleet(150)
    simulate(2, origins: ["a:80"], per_second: 100, tick: 0.05)
    @calls = 0
    starts = simulate(8, origins: ["a:80"], per_second: 100, tick: 0.05)
    assert_operator @calls, :<, 800
    assert_operator starts["a:80"], :<=, 100 * 8 * 1.25
    assert_operator starts["a:80"], :>, 400
  end

  def test_a_slow_rate
    fleet(3)
    starts = simulate(20, origins: ["a:80"], per_second: 0.5)
    assert_includes 9..12, starts["a:80"]
  end

  def test_in_flight_together
    fleet(4)
    most = 0
    simulate(5, origins: ["a:80"], in_flight: 10, takes: 0.3) { |active| most = [most, active.size].max }
    assert_operator most, :<=, 10
    assert_operator most, :>=, 8
  end

  def test_what_a_worker_that_is_gone_had_in_flight_comes_back
    fleet(2)
    simulate(1, origins: ["a:80"], in_flight: 10, takes: 100, fleet: [@fleet[0]])
    started = simulate(5, origins: ["a:80"], in_flight: 10, takes: 0.1, fleet: [@fleet[1]])["a:80"]
    assert_equal 0, started
    @now += 16
    assert_operator simulate(2, origins: ["a:80"], in_flight: 10, takes: 0.1, fleet: [@fleet[1]])["a:80"], :>, 50
  end

  def test_a_pause_that_one_has_learnt_holds_for_all
    first, second = fleet(2)
    simulate(1, origins: ["a:80", "b:80"], per_second: 50)
    first.share("a:80", 50, nil).learn(nil, Response.new(429, { "retry-after" => "1" }), @now)
    @fleet.each { |limits| limits.step(@now) }
    assert_in_delta 1.0, second.share("a:80", 50, nil).delay(@now), 0.2
    assert_operator second.share("b:80", 50, nil).delay(@now), :<, 0.2
    before = simulate(0.8, origins: ["a:80", "b:80"], per_second: 50)
    assert_equal 0, before["a:80"]
    assert_operator before["b:80"], :>, 20
    sleep 1.1 # pauses end by the real clock of Redis
    assert_operator simulate(2, origins: ["a:80"], per_second: 50)["a:80"], :>, 20
  end

  def test_without_redis_each_goes_on_with_its_part_and_says_so_once
    fleet(4)
    simulate(1, origins: ["a:80"], per_second: 100)
    @redis.halt
    log = StringIO.new
    Trunkline::Bulk.configure { |config| config.logger = Logger.new(log) }
    assert_in_delta 200, simulate(2, origins: ["a:80"], per_second: 100)["a:80"], 40
    assert_equal 4, log.string.scan("one of 4").size # each process once
    @redis.start
    log.truncate(0)
    assert_in_delta 200, simulate(2, origins: ["a:80"], per_second: 100)["a:80"], 40
    assert_equal 4, log.string.scan("there again").size
  ensure
    Trunkline::Bulk.configure { |config| config.logger = nil }
  end

  def test_the_password_of_redis_is_not_shown
    Trunkline::Bulk.configure { |config| config.redis = "redis://:secret@127.0.0.1:1" }
    shown = [Trunkline::Bulk.configuration, Limits::Redis.new("redis://:secret@127.0.0.1:1"),
             Limits.at("redis://:secret@127.0.0.1:1")].map(&:inspect)
    refute_match(/secret/, shown.join)
  ensure
    Trunkline::Bulk.configure { |config| config.redis = nil }
  end

  def test_two_runs_share_a_limit_through_redis
    Trunkline::Bulk.configure { |config| config.redis = @redis.url }
    server = serve
    run = bulk(Array.new(60) { |number| server.url("/#{number}") }, per_origin: 40, in_flight: 20)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    Array.new(2) { |number| Thread.new { run_bulk(run, "run#{number}") } }.each(&:join)
    assert_equal 120, server.total
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :>, 2.4
  ensure
    Trunkline::Bulk.configure { |config| config.redis = nil }
  end

  def test_in_flight_without_redis
    in_flight = []
    most = 0
    lock = Mutex.new
    server = serve do
      lock.synchronize { most = [most, (in_flight << 1).size].max }
      sleep 0.1
      lock.synchronize { in_flight.pop }
      [200, "ok"]
    end
    run_bulk(bulk(Array.new(30) { |number| server.url("/#{number}") }, in_flight: 3, concurrency: 10))
    assert_equal 3, most
  end
end
