# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/fleet"
require "active_record"

# Four Sidekiq processes, which are killed, with a Redis and a PostgreSQL that are restarted: no item is lost. Set ITEMS
# and EVERY (seconds between two kills) for a longer test (rake bulk:fleet).
class TestFleet < BulkTest
  ITEMS = Integer(ENV.fetch("ITEMS", 2_000))
  EVERY = Float(ENV.fetch("EVERY", 2))
  SLICE = Integer(ENV.fetch("SLICE", 50))

  def setup
    super
    skip "its servers are not installed (bin/setup)" unless %w[postgres redis-server].all? { Server.there?(_1) }
    @server = serve { sleep(0.2) && [200, "ok"] } if ITEMS <= 10_000
    @server ||= serve
    @fleet = Fleet.new(@folder, origin: @server.url("/"), items: ITEMS, slice: SLICE)
    ActiveRecord::Base.establish_connection(**@fleet.database.active_record, pool: 5)
    @state = Trunkline::Bulk::State::ActiveRecord.new
  end

  def start
    @fleet.start(4)
    @fleet.run('Fetched.start("run", on: :active_job)')
  end

  def teardown
    @fleet&.stop
    super
  end

  def status = @state.run("Fetched/run")

  def finished?(status) = status.state == :done

  # @yield called every EVERY seconds, until the run is over
  def meanwhile(seconds)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    count = 0
    until finished?(status)
      flunk "#{status.inspect}\n#{@fleet.logs}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
      sleep EVERY
      yield count += 1
    end
    count
  end

  def assert_complete
    assert_equal [:done, ITEMS, 0, { "200" => ITEMS }], status.then { [_1.state, _1.done, _1.failed, _1.counts] }
    assert_equal ITEMS, @server.counts.size
    keys = @fleet.results
    assert_equal ITEMS, keys.uniq.size
    puts "#{ITEMS} items, #{keys.size - ITEMS} came twice" if ENV["ITEMS"]
  end

  def test_a_worker_is_killed_again_and_again
    start
    kills = done = 0
    meanwhile([ITEMS / 20, 180].max) do
      now = status
      next if finished?(now) || now.done < done + (2 * SLICE) # on a busy machine, the processes have not started yet

      @fleet.replace
      done = now.done
      kills += 1
    end
    assert_operator kills, :>=, 1
    assert_complete
  end

  # In CI, restarts of Redis and of the database are tested with one process (test_state_postgresql, test_limits).
  if ENV["ITEMS"]
    def test_redis_and_the_database_are_restarted
      start
      meanwhile([ITEMS / 20, 180].max) do |count|
        server = [@fleet.redis, @fleet.database][count - 1] or next
        server.halt
        sleep 1
        server.start
        eventually("it answers") { server.answers? }
      end
      assert_complete
    end
  end

  OTHER = <<~RUBY.freeze
    def still = [Fetched.status("run").done, sleep(1) && Fetched.status("run").done]
    sleep 0.02 until Trunkline::Bulk::State.of(:active_record).run("Fetched/run")&.done.to_i > 100
    puts Fetched.pause("run")
    first, last = still until first && first == last
    done = last
    puts done < #{ITEMS}
    Fetched.resume("run")
    sleep 0.05 until Fetched.status("run").done > done + 50
    puts Fetched.cancel("run")
  RUBY

  def test_paused_resumed_and_cancelled_by_another_process
    other = Thread.new { @fleet.run(OTHER).lines }
    start
    output = other.value.grep(/\A(run:|true|false)/)
    assert_match(/paused/, output[0])
    assert_equal "true", output[1].chomp
    assert_match(/cancelled/, output[2])
    eventually("all have stopped") { (before = @server.total) && sleep(0.5) && before == @server.total }
    assert_equal :cancelled, status.state
    assert_operator status.done, :<, ITEMS
  end
end
