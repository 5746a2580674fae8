# frozen_string_literal: true

require "active_support"
require "active_support/notifications"
require_relative "test_helper"

# Events for ActiveSupport::Notifications.
class TestEvents < BulkTest
  def events_of(name, &block)
    events = []
    ActiveSupport::Notifications.subscribed(->(event) { events << event }, name, &block)
    events
  end

  def test_runs_and_slices
    server = serve
    run = bulk(Array.new(5) { |number| server.url("/#{number}") } + ["http://bad host/"], slice: 3)
    slices = nil
    runs = events_of("run.trunkline_bulk") { slices = events_of("slice.trunkline_bulk") { run_bulk(run) } }
    assert_equal [{ bulk: "TestedBulk", run: "run", on: :here, state: :done, done: 5, failed: 1 }], runs.map(&:payload)
    assert_operator runs[0].duration, :>, 0
    assert_equal [["run", 3, 1, :complete]] * 2,
                 slices.map { |one| one.payload.values_at(:run, :items, :attempts, :outcome) }
    counts = slices.map { |one| one.payload[:counts] }.inject { |one, other| one.merge(other) { |_, *both| both.sum } }
    assert_equal({ "200" => 5, "InvalidRequest" => 1 }, counts)
  end

  def test_a_slice_that_is_given_back
    server = serve { sleep(0.05) && [200, "ok"] }
    run = bulk(Array.new(100) { |number| server.url("/#{number}") }, slice: 100, concurrency: 2)
    slices = events_of("slice.trunkline_bulk") do
      thread = Thread.new { run_bulk(run) }
      eventually("it works") { server.total > 5 }
      changes = events_of("change.trunkline_bulk") { run.pause("run", state: state) }
      assert_equal [%i[paused paused]], changes.map { |one| one.payload.values_at(:change, :state) }
      thread.join
    end
    assert_equal [:released], slices.map { |one| one.payload[:outcome] }
    assert_equal server.total, slices[0].payload[:counts]["200"]
  end
end
