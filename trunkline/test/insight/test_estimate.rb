# frozen_string_literal: true

require_relative "../test_helper"
require "trunkline/insight"

# Findings and estimates for calls with given times, without a server.
class TestInsightEstimate < TrunklineTest
  Insight = Trunkline::Insight

  # @param times [Array<(Numeric, Numeric)>] when each call began and ended
  def calls(times, host: "a#{object_id}.test", target: nil, **facts)
    times.each_with_index.map do |(began, ended), index|
      Insight::Call.new(library: "Trunkline", began: began.to_f, ended: ended.to_f, opening: 0.0, place: "a.rb:1",
                        **Insight::Call.request("GET", ["http", host, 80], target || "/users/#{index}"), **facts)
    end
  end

  # Calls one after another, each of the same duration.
  def row(count, seconds: 1, **facts) = calls((0...count).map { |at| [at * seconds, (at + 1) * seconds] }, **facts)

  def findings(calls, min: 3) = Insight::Finder.new(calls, of: 100.0, min: min).findings

  def test_seconds_in_which_any_call_was_under_way
    assert_in_delta 4.0, Insight::Estimate.covered(calls([[0, 2], [1, 3], [1, 2], [5, 6]]))
    assert_in_delta 0.0, Insight::Estimate.covered([])
  end

  def test_rounds
    assert_equal [2, 1, 3],
                 Insight::Estimate.rounds(calls([[0, 2], [1, 3], [3, 4], [5, 9], [6, 7], [8, 10]])).map(&:size)
  end

  def test_side_by_side
    { 10 => 1.0, 16 => 1.0, 17 => 2.0, 32 => 2.0 }.each do |count, seconds|
      assert_in_delta seconds, Insight::Estimate.side_by_side(row(count)), 0.005, count
    end
    cpu = Insight::SimulatedBatch::CPU
    assert_in_delta 0.01 + 14 * cpu, Insight::Estimate.side_by_side(row(15, seconds: 0.01)), 1e-9
    assert_in_delta 5.0, Insight::Estimate.side_by_side(calls([[0, 1], [1, 6], [6, 7]]))
  end

  # A large batch raises the number of requests in flight step by step, up to the limit of connections.
  def test_side_by_side_of_very_many
    assert_includes 10.0..20.0, Insight::Estimate.side_by_side(row(600))
    assert_includes 2.0..4.0, Insight::Estimate.side_by_side(row(600, seconds: 0.2))
  end

  def test_side_by_side_on_new_connections
    first, *others = row(10)
    opened = first.to_h.merge(opening: 0.5).then { |facts| Insight::Call.new(**facts) }

    assert_in_delta 1.5, Insight::Estimate.side_by_side([opened, *others])
    assert_in_delta 1.0, Insight::Estimate.side_by_side(row(10, opening: 0.5)) # each opens a connection: 0.5 + 0.5
    shared = [opened, *others].map { |call| Insight::Call.new(**call.to_h, multiplexed: true) }

    assert_in_delta 1.0, Insight::Estimate.side_by_side(shared)
  end

  def test_opening_a_connection_is_remembered
    Insight::Estimate.learn(calls([[0, 1]], host: "kept.test", opening: 0.25).first)

    assert_in_delta 1.25, Insight::Estimate.side_by_side(row(10, host: "kept.test"))
  end

  def test_an_estimate_is_no_longer_than_it_took
    assert_in_delta 2.0, Insight::Estimate.side_by_side(calls([[0, 2], [0, 2], [0, 2]]))
  end

  def test_a_loop_is_calls_one_after_another
    assert_equal [:loop], findings(row(3)).map(&:kind)
    assert_empty findings(row(2))
    assert_empty findings(calls([[0, 1], [0, 1], [0, 1]]))
    assert_empty findings(calls([[0, 1], [0, 1], [2, 3], [2, 3], [4, 5], [4, 5]])) # batches
  end

  def test_findings_are_sorted_by_time_saved
    settings = calls([[50, 51], [52, 53]], target: "/settings", timeout: "none")
    found = findings([*settings, *row(10)])

    assert_equal %i[loop repeated timeouts], found.map(&:kind)
    found.map(&:saves).zip([9.0, 1.0, 0.0]) { |saves, seconds| assert_in_delta seconds, saves, 0.005 }
  end

  def test_two_loops_of_a_host_are_one_finding
    users = calls([[0, 1], [2, 3], [4, 5]])
    orders = calls([[1, 2], [3, 4], [5, 6]]).map.with_index do |call, index|
      Insight::Call.new(**call.to_h, **Insight::Call.request("GET", ["http", call.host, 80], "/users/#{index}/orders"))
    end
    found = findings([*users, *orders])

    assert_includes found.first.what, "6 calls to a#{object_id}.test one after another " \
                                      "(GET /users/:id x 3, GET /users/:id/orders x 3)"
    assert_in_delta 2.0, found.first.estimate
  end

  def test_connections_that_could_have_been_kept
    assert_includes findings(row(2) + row(3, opening: 0.2)).map(&:kind), :connections
    assert_empty(findings(calls([[0, 1]] * 5, opening: 0.2)).select { |one| one.kind == :connections })
  end

  # A batch after a single call needs more connections than are open.
  def test_connections_that_were_needed
    wider = calls([[1, 2]] * 4, opening: 0.2)

    refute_includes findings(row(1) + wider).map(&:kind), :connections
    assert_includes findings(row(1) + wider + calls([[3, 4]] * 2, opening: 0.2)).map(&:kind), :connections
  end

  def test_shapes
    { "/users/12?b=1&a=2&b=3" => "GET /users/:id?a&b", "" => "GET /", "/x?flag" => "GET /x?flag", "/x?" => "GET /x" }
      .each do |target, shape|
        assert_equal shape, Insight::Call.request("GET", ["http", "a", 80], target)[:shape], target
      end
    assert_equal %w[a a:81 a a:80], [["http", "a", 80], ["http", "a", 81], ["https", "a", 443], ["https", "a", 80]]
      .map { |origin| Insight::Call.request("GET", origin, "/")[:host] }
  end
end
