# frozen_string_literal: true

require "active_record"
require_relative "servers"
require_relative "state_tests"

# Tests of a State in a database of ActiveRecord, in addition to StateTests. The class has `server`, a Server, or nil if
# it is not installed; and `restarts`, the signals that end the server, one after another, in the middle of a run.
module DatabaseStateTests
  def setup
    super
    config = self.class.server&.active_record or skip missing
    ActiveRecord::Base.establish_connection(**config, pool: 20)
    connection = ActiveRecord::Base.connection
    connection.tables.each { |table| connection.drop_table(table) }
    @state = Trunkline::Bulk::State::ActiveRecord.new
  end

  # The reason for skipping the tests.
  def missing = "the server is not installed (bin/setup)"

  def test_its_tables_make_themselves_once
    states = Array.new(4) { Trunkline::Bulk::State::ActiveRecord.new }
    states.map { |one| Thread.new { one.begin_run("Tested/run", 1).id } }.map(&:value).uniq.then do |ids|
      assert_equal 1, ids.size
    end
  end

  def test_a_whole_run
    server = serve
    run = bulk(Array.new(50) { |number| server.url("/#{number}") } + ["http://bad host/"], slice: 7)
    status = run.start("run", state: @state, progress: false)
    assert_equal [:done, 50, 1, 51], [status.state, status.done, status.failed, status.total]
    assert_equal 50, server.counts.size
  end

  def test_a_database_that_is_restarted
    server = self.class.server
    origin = serve { sleep(0.02) && [200, "ok"] }
    run = bulk(Array.new(300) { |number| origin.url("/#{number}") }, slice: 20, concurrency: 5)
    thread = Thread.new { run.start("run", state: @state, progress: false) }
    self.class.restarts.each.with_index do |signal, count|
      eventually("it works") { origin.total > 50 * (count + 1) }
      server.halt(signal)
      sleep 0.5
      server.start
    end
    status = thread.value
    assert_equal [:done, 300, { "200" => 300 }], [status.state, status.done, status.counts]
    assert_equal 300, origin.total # no item was repeated: results that could not be recorded were kept
  end

  def test_outcomes_that_begin_alike_are_one_when_they_are_too_long
    run = begin_run(slices: 1)
    slice = @state.claim(run.id, me(:worker), StateTests::LEASE)
    @state.record(slice, "11", { "#{"x" * 200}a" => 1, "#{"x" * 200}b" => 1 }, [])
    assert_equal({ "x" * 200 => 2 }, run_of.counts)
  end

  # Shifts the clock of the database, by which leases are counted, for this process.
  def turn_clock(seconds)
    @state.define_singleton_method(:now) { super() + seconds }
  end

  def test_a_clock_that_is_set_back_keeps_no_slice_from_others
    run = begin_run(slices: 1)
    slice = @state.claim(run.id, me(:dead), StateTests::LEASE)
    assert_nil @state.claim(run.id, me(:other), StateTests::LEASE)
    turn_clock(-3_600)
    taken = @state.claim(run.id, me(:other), StateTests::LEASE)
    assert_equal slice.id, taken.id
    assert_raises(Trunkline::Bulk::LeaseLost) { @state.record(slice, "11", { "200" => 2 }, []) }
    @state.renew(run.id, me(:other), StateTests::LEASE)
    assert_nil @state.claim(run.id, me(:third), StateTests::LEASE)
    @state.record(taken, "11", { "200" => 2 }, [])
    assert_equal [:done, 2], run_of.then { [_1.state, _1.done] }
  end

  def test_a_clock_that_is_set_forward_gives_slices_away_once
    run = begin_run(slices: 1)
    slice = @state.claim(run.id, me(:first), StateTests::LEASE)
    turn_clock(3_600)
    taken = @state.claim(run.id, me(:other), StateTests::LEASE)
    assert_equal slice.id, taken.id
    assert_nil @state.claim(run.id, me(:third), StateTests::LEASE)
    assert_raises(Trunkline::Bulk::LeaseLost) { @state.record(slice, "10", { "200" => 1 }, []) }
  end
end
