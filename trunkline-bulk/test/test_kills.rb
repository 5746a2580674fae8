# frozen_string_literal: true

require "sqlite3"
require_relative "test_helper"

# Processes that are killed at any moment: no item is lost, each is recorded once.
class TestKills < BulkTest
  ITEMS = 600

  def program(server, more = "")
    <<~RUBY
      class Killed < Trunkline::Bulk
        source  { (0...#{ITEMS}).lazy.map { |number| "#{server.url}/" + number.to_s } }
        request { |url| url }
        options slice: 20, concurrency: 8, timeout: 5, lease: 2, attempts: 50
        result  { |url, result, key| File.write(#{path("results").inspect}, "\#{key} \#{url}\\n", mode: "a") }
      end
      #{more}
      puts Killed.start("run", state: #{state.inspect}, progress: false).to_s
    RUBY
  end

  def done = Trunkline::Bulk::State.of(state).run("Killed/run")&.done.to_i

  def results = File.exist?(path("results")) ? File.readlines(path("results"), chomp: true) : []

  def assert_complete
    run = Trunkline::Bulk::State.of(state).run("Killed/run")
    assert_equal [:done, ITEMS, 0, ITEMS], [run.state, run.done, run.failed, run.total]
    keys = Array.new(ITEMS) { |number| "Killed/run/#{number}" }
    assert_equal keys.sort, results.map { |line| line.split.first }.uniq.sort
    results.each { |line| assert_equal line[%r{run/(\d+)}, 1], line[/\d+\z/] }
  end

  def test_killed_again_and_again
    server = serve { sleep(0.02) && [200, "ok"] }
    pid = nil
    kills = 0
    until Trunkline::Bulk::State.of(state).run("Killed/run")&.state == :done
      pid = Programs.start(program(server), path("output"))
      before = done
      ended = eventually("it works", 30) { Process.wait(pid, Process::WNOHANG) || (done > before + 20 && :working) }
      next unless ended == :working

      sleep(rand * 0.2)
      Programs.kill(pid)
      kills += 1
      assert_operator kills, :<, 30
    end
    Process.wait(Programs.start(program(server), path("output")))
    assert_operator kills, :>=, 2
    assert_complete
    assert_operator results.size, :<, ITEMS + (kills * 200)
  end

  # The processes are killed from outside: no item is the cause, though slices are begun more often than `attempts`.
  def test_nothing_has_failed_when_processes_are_killed_more_often_than_attempts
    server = serve { sleep(0.02) && [200, "ok"] }
    code = program(server, "Killed.options(attempts: 1, slice: 5)")
    6.times do
      pid = Programs.start(code, path("output"))
      before = server.total
      eventually("it works", 30) { server.total > before + 4 || done == ITEMS }
      Programs.kill(pid)
    end
    Process.wait(Programs.start(code, path("output")))
    assert_complete
  end

  def test_two_at_once_and_one_is_killed
    server = serve { sleep(0.004) && [200, "ok"] }
    first, second = Array.new(2) { |number| Programs.start(program(server), path("output#{number}")) }
    eventually("both work", 30) { server.total > 100 }
    Programs.kill(first)
    assert_predicate Process.wait2(second).last, :success?, File.read(path("output1"))
    assert_complete
  end

  # The slices of a stopped process go to another when the lease ends; its later results are not recorded.
  def test_one_that_is_stopped_loses_its_slices
    server = serve { sleep(0.004) && [200, "ok"] }
    first = Programs.start(program(server), path("output0"))
    eventually("it works", 30) { server.total > 60 }
    stop_outside_transactions(first)
    second = Programs.start(program(server), path("output1"))
    assert_predicate Process.wait2(second).last, :success?, File.read(path("output1"))
    assert_complete
    Process.kill(:CONT, first)
    assert_predicate Process.wait2(first).last, :success?, File.read(path("output0"))
    assert_complete
  end

  # Simulates a full disk: no file of the process may grow any further.
  def test_a_full_disk_ends_the_run_which_goes_on_later
    server = serve
    full = program(server, <<~RUBY)
      Killed.options(slice: 200)
      Signal.trap("XFSZ", "IGNORE")
      Process.setrlimit(:FSIZE, 60_000)
    RUBY
    assert_equal 1, Process.wait2(Programs.start(full, path("output"))).last.exitstatus
    assert_match(/SQLite3|File too large/, File.read(path("output")))
    assert_operator done, :<, ITEMS
    assert_predicate Process.wait2(Programs.start(program(server), path("output"))).last, :success?
    assert_complete
  end

  def test_an_item_that_kills_its_worker
    server = serve
    code = program(server, <<~RUBY)
      Killed.options(attempts: 2, slice: 5)
      Killed.request { |url| url.end_with?("/7") ? Process.kill(:KILL, $$) : url }
    RUBY
    statuses = Array.new(4) { Process.wait2(Programs.start(code, path("output"))).last }
    assert_equal [true, true, true, false], statuses.map(&:signaled?) # begun once, and twice with the item alone
    run = Trunkline::Bulk::State.of(state).run("Killed/run")
    assert_equal [:done, ITEMS], [run.state, run.done + run.failed], File.read(path("output"))
    assert_equal [7], Trunkline::Bulk::State.of(state).failures(run.id).map(&:position)
    assert_equal 1, run.counts["WorkerDied"]
  end

  private

  # A process that is stopped within a transaction would keep the SQLite file locked.
  def stop_outside_transactions(pid)
    eventually("it is stopped while it writes nothing", 30) do
      Process.kill(:STOP, pid)
      Process.wait(pid, Process::WUNTRACED)
      writes = writing?
      Process.kill(:CONT, pid) if writes
      !writes
    end
  end

  def writing?
    db = SQLite3::Database.new(state)
    db.execute("BEGIN IMMEDIATE")
    db.execute("ROLLBACK")
    false
  rescue SQLite3::BusyException
    true
  ensure
    db.close
  end
end
