# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fibers"
require_relative "../support/call_styles"

# The option hedge:.
class TestHedge < TrunklineTest
  include CallStyles

  HEDGE = { after: 0.1, max: 1.0 }.freeze

  # Responds late to the first request for each target.
  def serve_with_late_firsts(seconds = 1)
    seen = Hash.new(0)
    serve do |connection|
      while (request = connection.read_request)
        first = (seen[request.target] += 1) == 1
        sleep(seconds) if first
        connection << response_bytes(first ? "late" : "early")
      end
    end
  end

  def test_the_first_response_is_taken
    each_call_style do |style, call|
      server = serve_with_late_firsts
      http = client(server.url, hedge: HEDGE)
      began = Trunkline::Engine.now
      response = call.call(http, :get, "/")
      assert_equal "early", response.body, style
      assert_in_delta 0.1, Trunkline::Engine.now - began, 1, style
      assert_equal [[1, :first, nil, "Cancelled"], [2, :hedge, 200, nil]],
                   response.attempts.map { |one| [one.number, one.reason, one.status, one.error] }, style
      assert_equal [2, 2], [server.requests.size, server.connection_count], style
      assert_equal 0, http.stats[:in_use], style
    end
  end

  def test_the_first_request_may_still_win
    each_call_style do |style, call|
      count = 0
      server = serve do |connection|
        connection.read_request
        sleep((count += 1) == 1 ? 0.4 : 1.5)
        connection << response_bytes("first")
      end
      response = call.call(client(server.url, hedge: HEDGE), :get, "/")
      assert_equal "first", response.body, style
      attempts = response.attempts.map { |attempt| [attempt.reason, attempt.error] }
      assert_equal [[:first, nil], [:hedge, "Cancelled"]], attempts, style
    end
  end

  def test_an_early_response_needs_no_hedge
    each_call_style do |style, call|
      server = serve
      http = client(server.url, hedge: { after: 5, max: 1.0 }) # longer than any delay of the machine
      assert_equal 1, call.call(http, :get, "/").attempts.size, style
      assert_equal 1, server.requests.size, style
    end
  end

  def test_an_error_waits_for_the_other
    each_call_style do |style, call|
      count = 0
      server = serve do |connection|
        connection.read_request
        next sleep(0.8) if (count += 1) == 1

        sleep 0.8
        connection << response_bytes("second")
      end
      response = call.call(client(server.url, hedge: { after: 0.4, max: 1.0 }), :get, "/") # `count` is by arrival
      assert_equal ["second", ["ConnectionClosed", nil]], [response.body, response.attempts.map(&:error)], style
    end
  end

  def test_the_error_lists_both_attempts_when_both_fail
    each_call_style do |style, call|
      server = serve { |connection| connection.read_request && sleep(0.3) && connection.close }
      error = call.call(client(server.url, hedge: HEDGE), :get, "/")
      assert_instance_of Trunkline::ConnectionClosed, error, style
      assert_equal %i[first hedge], error.attempts.map(&:reason), style
    end
  end

  def test_only_what_is_safe
    server = serve_with_late_firsts(0.4)
    http = client(server.url, hedge: HEDGE)
    each_call_style { |style, call| assert_equal 1, call.call(http, :put, "/#{style}", body: "x").attempts.size, style }
  end

  # The head of the first response is late, and the body of the second arrives slowly: the first must not win meanwhile.
  def test_a_body_that_comes_after_the_race
    late = nil # one queue per way: a connection of the way before may still wait for its own
    count = 0
    server = serve do |connection|
      ends = late
      connection.read_request
      next ends.pop if (count += 1) == 1

      connection << "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\none"
      sleep 0.3
      connection << "two"
    end
    http = client(server.url, hedge: HEDGE)
    styles = [-> { http.get("/", stream: true).body },
              -> { (+"").tap { |all| http.get("/") { |chunk| all << chunk } } }]
    styles.each do |style|
      count = 0
      late = Thread::Queue.new
      assert_equal "onetwo", style.call
      late << :end
    end
    assert_equal 0, http.stats[:in_use]
  end

  def test_leaving_a_streamed_call_cancels_both
    server = serve { |connection| connection.read_request && sleep }
    http = client(server.url, hedge: HEDGE)
    before = Thread.list.size
    thread = Thread.new { http.get("/", stream: true) }
    thread.report_on_exception = false
    sleep 0.01 until server.requests.size == 2
    thread.raise(IOError, "enough")
    assert_raises(IOError) { thread.value }
    sleep 0.05 while http.stats[:in_use].positive?
    assert_operator Thread.list.size, :<=, before + 2 # the server's threads
  end

  def test_a_streamed_call_in_fibers
    server = serve_with_late_firsts
    http = client(server.url, hedge: HEDGE)
    bodies = Sync do |task|
      Array.new(3) { |i| task.async { http.get("/#{i}", stream: true).body } }.map(&:wait)
    end
    assert_equal ["early"] * 3, bodies
  end

  def test_the_budget_bounds_it
    server = serve { |connection| connection << response_bytes while connection.read_request && sleep(0.12) }
    http = client(server.url, hedge: { after: 0.05, max: 0.1 })
    http.map(Array.new(100) { |index| "/#{index}" }, concurrency: 10)
    assert_operator server.requests.size, :<=, 110
    assert_operator server.requests.size, :>, 103
    assert_equal server.requests.size - 100, http.stats[:hedges][server.address][:taken]
  end

  def test_a_hedge_takes_a_rate_slot_or_is_not_sent
    each_call_style do |style, call|
      server = serve_with_late_firsts(0.4)
      http = client(server.url, hedge: { after: 0.1, max: 1.0 }, rate: { per_second: 0.5, burst: 3 })
      assert_equal [2, 1], Array.new(2) { |number| call.call(http, :get, "/#{number}").attempts.size }, style
      assert_equal 3, server.requests.size, style
      Trunkline::Policy::State.clear
    end
  end

  def test_the_quantile_is_learnt
    server = serve
    http = client(server.url, hedge: { after: :p95, max: 1.0 })
    100.times { |index| http.get("/#{index}") }
    known = http.stats[:hedges][server.address]
    assert_equal 100, known[:count]
    assert_operator known[:p95], :>=, known[:p50]
  end

  # The first request for /late gets no response; on a busy machine other calls may have been hedged before it.
  def test_late_by_the_quantile
    first = Queue.new << true
    server = serve do |connection|
      while (request = connection.read_request)
        next connection.stall if request.target == "/late" && !first.empty? && first.pop

        sleep 0.05
        connection << response_bytes("early")
      end
    end
    http = client(server.url, hedge: { after: :p90, max: 1.0 })
    30.times { http.get("/") }
    response = http.get("/late")
    assert_equal ["early", 2], [response.body, response.attempts.size]
  end

  def test_within_the_timeout_and_with_retries
    server = serve { |connection| connection.read_request && sleep(2) }
    each_call_style do |style, call|
      error = call.call(client(server.url, hedge: HEDGE, timeout: 0.4), :get, "/")
      assert_instance_of Trunkline::TotalTimeout, error, style
      assert_equal 2, error.attempts.size, style
    end
  end

  def test_leaving_a_batch_cancels_both
    server = serve { |connection| connection.read_request && sleep(2) }
    http = client(server.url, hedge: HEDGE)
    future = http.async.get("/")
    sleep 0.05 until server.requests.size == 2
    assert future.cancel
    Thread.new { http.map(["/"]) }.tap { sleep 0.3 }.kill.join
    sleep 0.05 while http.stats[:in_use].positive?
    assert_equal 0, http.stats[:in_use]
  end

  # The call's first request has failed. Resources that its policies held must pass to the calls that wait for them.
  def test_cancelling_a_call_of_which_the_second_request_alone_is_under_way
    seen = Thread::Queue.new
    count = 0
    server = serve do |connection|
      connection.read_request
      case count += 1
      when 1 then seen.pop
      when 2 then seen << true && connection.stall
      else connection << response_bytes("third")
      end
    end
    http = client(server.url, hedge: HEDGE, coalesce: true)
    cancelled, other = Array.new(2) { http.async.get("/") }
    sleep 0.01 until server.requests.size == 2 && http.stats[:in_use] == 1
    assert cancelled.cancel
    error = cancelled.value
    assert_instance_of Trunkline::Cancelled, error
    assert_equal :partial, error.sent
    assert_equal ["third", false], [other.value.body, other.value.shared?]
    assert_equal 0, http.stats[:in_use]
  end

  def test_bad_settings
    { { after: :p30 } => /hedge: after: must be a quantile from :p50 to :p99\.9, or seconds, got :p30/,
      { after: 0 } => /hedge: after/, { max: 2 } => /hedge: max: must be a number from 0\.0 to 1\.0, got 2/ }
      .each do |value, message|
        assert_match message, assert_raises(Trunkline::InvalidRequest) { client("http://a.test", hedge: value) }.message
      end
  end
end
