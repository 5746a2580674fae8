# frozen_string_literal: true

# Tests that each subclass of State must pass.
module StateTests
  Bulk = Trunkline::Bulk
  LEASE = 30

  def begin_run(slices: 3, key: "Tested/run")
    run = @state.begin_run(key, 2)
    feed = @state.claim_source(run.id, me(:feeder), LEASE)
    cut = Array.new(slices) { |number| [number * 2, Bulk::Codec.dump(["a#{number}", "b#{number}"]), 2] }
    @state.add_slices(feed, cut, { "at" => slices * 2 }, ended: true)
    run
  end

  def run_of(key = "Tested/run") = @state.run(key)

  def failure(position, message = "text\0\xFF") = Bulk::State::Failure.new(position, "item", "ConnectError", message)

  def test_a_run_from_its_beginning_to_its_end
    run = begin_run
    assert_equal [:running, 6, 6, true, 3], run_of.then { [_1.state, _1.total, _1.cut, _1.cut_all, _1.slices] }
    slices = Array.new(3) { @state.claim(run.id, me(:worker), LEASE) }
    assert_nil @state.claim(run.id, me(:other), LEASE)
    assert_equal [[0, 1], [2, 3], [4, 5]], slices.map { |slice| slice.positions.to_a }
    assert_equal [%w[a0 b0], "00", 1, 1], slices[0].then { [_1.items, _1.recorded, _1.fence, _1.attempts] }
    @state.record(slices[0], "10", { "200" => 1 }, [])
    @state.record(slices[0], "11", { "ConnectError" => 1 }, [failure(1)])
    @state.record(slices[1], "11", { "200" => 1, "404" => 1 }, [])
    assert_equal [:running, 3, 1, 1], run_of.then { [_1.state, _1.done, _1.failed, _1.slices] }
    @state.record(slices[2], "11", { "200" => 2 }, [])
    assert_equal [:done, 5, 1, { "200" => 4, "404" => 1, "ConnectError" => 1 }],
                 run_of.then { [_1.state, _1.done, _1.failed, _1.counts] }
    assert_operator run_of.ended, :>=, run_of.began
    assert_equal [[1, "item", "ConnectError"]], @state.failures(run.id).map { |one| one.to_a.first(3) }
  end

  def test_a_run_begins_once
    first = @state.begin_run("Tested/a", 5)
    assert_equal first.id, @state.begin_run("Tested/a", 7).id
    other = @state.begin_run("Tested/b", 5)
    assert_equal [other.id, first.id], @state.runs.map(&:id)
    assert_nil @state.run("Tested/c")
  end

  def test_runs_and_outcomes_are_told_apart_by_every_character
    keys = ["Tested/a", "Tested/A", "Tested/ä", "Tested/a "]
    assert_equal keys, keys.each { |key| @state.begin_run(key, 5) }.map { |key| @state.run(key).key }
    run = begin_run(slices: 1)
    slice = @state.claim(run.id, me(:worker), LEASE)
    @state.record(slice, "10", { "Late" => 1, "late" => 2, "it's \\ ?" => 3 }, [])
    @state.record(slice, "11", { "late" => 4, "it's \\ ?" => 5, "200" => 6 }, [])
    assert_equal({ "Late" => 1, "late" => 6, "it's \\ ?" => 8, "200" => 6 }, run_of.counts)
  end

  def test_what_was_recorded_of_a_slice_is_kept_for_who_takes_it_over
    run = begin_run(slices: 1)
    first = @state.claim(run.id, me(:worker), -1)
    @state.record(first, "01", { "200" => 1 }, [])
    second = @state.claim(run.id, me(:other), LEASE)
    assert_equal [first.id, "01", 2, 2], second.then { [_1.id, _1.recorded, _1.fence, _1.attempts] }
    assert_raises(Bulk::LeaseLost) { @state.record(first, "11", { "200" => 1 }, []) }
    assert_equal 1, run_of.done
    @state.release(first)
    assert_nil @state.claim(run.id, me(:third), LEASE)
    @state.release(second)
    assert_equal [3, 2], @state.claim(run.id, me(:third), LEASE).then { [_1.fence, _1.attempts] }
  end

  def test_an_item_that_was_alone_on_its_way_is_not_over
    run = begin_run(slices: 1)
    @state.record(@state.claim(run.id, me(:worker), -1), "12", { "200" => 1 }, [])
    second = @state.claim(run.id, me(:other), LEASE)
    assert_equal "12", second.recorded
    @state.record(second, "10", {}, [])
    @state.record(second, "11", { "200" => 1 }, [])
    assert_equal [:done, 2], run_of.then { [_1.state, _1.done] }
  end

  def test_renewed_slices_are_not_taken_over
    run = begin_run(slices: 2)
    2.times { @state.claim(run.id, me(:first), 0.2) }
    sleep 0.1
    @state.renew(run.id, me(:first), LEASE)
    sleep 0.3
    assert_nil @state.claim(run.id, me(:other), LEASE)
  end

  def test_the_source_has_one_worker_at_a_time
    run = @state.begin_run("Tested/run", 2)
    feed = @state.claim_source(run.id, me(:first), LEASE)
    assert_equal [nil, 0], [feed.cursor, feed.position]
    assert_nil @state.claim_source(run.id, me(:other), LEASE)
    @state.add_slices(feed, [[0, Bulk::Codec.dump([1]), 1]], [7, "x"], ended: false)
    @state.release_source(feed)
    second = @state.claim_source(run.id, me(:other), -1)
    assert_equal [[7, "x"], 1], [second.cursor, second.position]
    assert_equal 1, run_of.slices
    third = @state.claim_source(run.id, me(:third), LEASE)
    assert_raises(Bulk::LeaseLost) { @state.add_slices(second, [[1, Bulk::Codec.dump([2]), 1]], 8, ended: true) }
    @state.total(run.id, 10)
    assert_equal [1, 10], run_of.then { [_1.cut, _1.total] }
    @state.add_slices(third, [], [7, "x"], ended: true)
    assert_equal [1, true], run_of.then { [_1.total, _1.cut_all] }
    assert_nil @state.claim_source(run.id, me(:first), LEASE)
  end

  def test_its_state_is_changed_from_some_alone
    run = begin_run
    @state.change(run.id, :paused, from: %i[running])
    assert_equal :paused, @state.state_of_run(run.id)
    @state.change(run.id, :paused, from: %i[running])
    assert_equal :running, @state.begin_run("Tested/run", 2).state
    @state.change(run.id, :cancelled, from: %i[running paused])
    assert_equal :cancelled, @state.begin_run("Tested/run", 2).state
  end

  def test_failed_items_come_again_at_their_positions
    run = begin_run(slices: 2)
    2.times do
      slice = @state.claim(run.id, me(:worker), LEASE)
      @state.record(slice, "11", { "200" => 1, "ConnectError" => 1 }, [failure(slice.positions.first)])
    end
    assert_equal [:done, 2, 2], run_of.then { [_1.state, _1.done, _1.failed] }
    @state.retry_failed(run.id)
    assert_equal [:running, 2, 0, { "200" => 2 }], run_of.then { [_1.state, _1.done, _1.failed, _1.counts] }
    slice = @state.claim(run.id, me(:worker), LEASE)
    assert_equal [[0, 2], %w[item item]], [slice.positions.to_a, slice.items]
    @state.record(slice, "11", { "200" => 2 }, [])
    assert_equal [:done, 4, 0], run_of.then { [_1.state, _1.done, _1.failed] }
    assert_empty @state.failures(run.id).to_a
  end

  def test_a_note_of_jobs_is_kept
    run = begin_run
    assert_equal({ "queued" => 1 }, @state.jobs(run.id) { |jobs, _| { "queued" => jobs.to_h.fetch("queued", 0) + 1 } })
    first = nil
    @state.jobs(run.id) { |jobs, now| jobs.tap { first = now } }
    sleep 0.1
    @state.jobs(run.id) { |jobs, now| jobs.tap { assert_in_delta 0.1, now - first, 0.09 } }
    assert_equal 2, @state.jobs(run.id) { |jobs, _| { "queued" => jobs["queued"] + 1 } }["queued"]
  end

  def test_reports_of_processes_are_forgotten
    run = begin_run
    assert_empty run_of.reports
    @state.report(run.id, "first", { "rate" => 1.5 }, 30)
    @state.report(run.id, "second", { "rate" => 7 }, 0)
    2.times { |number| @state.report(run.id, "third", { "rate" => number }, 30) }
    assert_equal [{ "rate" => 1.5 }, { "rate" => 1 }], run_of.reports.sort_by { |one| -one["rate"] }
    assert_empty @state.begin_run("Tested/other", 2).reports
  end

  def test_many_at_once_lose_nothing_and_have_nothing_twice
    run = begin_run(slices: 60)
    seen = Queue.new
    Array.new(6) do |number|
      Thread.new do
        while (slice = @state.claim(run.id, me(number), LEASE))
          seen << slice.id
          @state.record(slice, "10", { "200" => 1 }, [])
          @state.record(slice, "11", { "500" => 1 }, [])
        end
      end
    end.each(&:join)
    assert_equal 60, Array.new(seen.size) { seen.pop }.uniq.size
    assert_equal [:done, 120, { "200" => 60, "500" => 60 }], run_of.then { [_1.state, _1.done, _1.counts] }
  end

  private

  # The name of a worker in this process.
  def me(name) = Bulk::State::Workers.name.sub(%r{[^/]+\z}, name.to_s)
end
