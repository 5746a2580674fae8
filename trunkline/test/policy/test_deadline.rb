# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fibers"
require_relative "../support/call_styles"

# Trunkline.deadline { }.
class TestDeadline < TrunklineTest
  include CallStyles

  def held = @held ||= serve { |connection| connection.read_request && sleep(2) }

  def test_a_deadline_bounds_every_call_style
    each_call_style do |style, call|
      began = Trunkline::Engine.now
      error = Trunkline.deadline(0.2) { call.call(client(held.url, timeout: 10), :get, "/") }
      assert_instance_of Trunkline::DeadlineExceeded, error, style
      assert_kind_of Trunkline::TotalTimeout, error
      assert_in_delta 0.2, Trunkline::Engine.now - began, 0.4, style
      assert_equal [:all, 1], [error.sent, error.attempts.size], style
      assert_match(%r{GET / at #{held.address} had 0\.\d+ s until the deadline, and did not end}, error.message, style)
    end
  end

  def test_a_shorter_total_timeout_of_the_call_applies
    each_call_style do |style, call|
      error = Trunkline.deadline(5) { call.call(client(held.url, timeout: 0.2), :get, "/") }
      assert_instance_of Trunkline::TotalTimeout, error, style
    end
  end

  def test_no_request_is_sent_after_the_deadline
    server = serve
    each_call_style do |style, call|
      error = Trunkline.deadline(0) { call.call(client(server.url), :get, "/") }
      assert_instance_of Trunkline::DeadlineExceeded, error, style
      assert_equal [:none, :queue, []], [error.sent, error.phase, error.attempts], style
      assert_match(/ had 0\.0 s until the deadline, and did not end \(it was about to be sent\);/, error.message, style)
    end
    assert_empty server.requests
  end

  def test_a_response_before_the_deadline_is_returned
    each_call_style do |style, call|
      assert_equal 200, Trunkline.deadline(5) { call.call(client(serve.url), :get, "/") }.status, style
    end
  end

  def test_nested_the_nearest_counts
    lefts = Trunkline.deadline(5) do
      [Trunkline.deadline(1) { Trunkline.deadline.left }, Trunkline.deadline(50) { Trunkline.deadline.left },
       Trunkline.deadline.left]
    end
    assert_equal [1.0, 5.0, 5.0], lefts.map { |left| left.round(1) }
    assert_nil Trunkline.deadline.left
  end

  def test_a_deadline_ends_with_its_block
    assert_raises(RuntimeError) { Trunkline.deadline(1) { raise "x" } }
    assert_nil Trunkline.deadline.left
  end

  def test_many_calls_share_it
    server = serve { |connection| connection << response_bytes while connection.read_request && sleep(0.15) }
    http = client(server.url, timeout: 10)
    results = Trunkline.deadline(0.5) { http.map(["/"] * 20, concurrency: 1) }
    assert_equal [Trunkline::Response, Trunkline::DeadlineExceeded], results.map(&:class).uniq
    assert_operator results.grep(Trunkline::Response).size, :<=, 3
    assert_equal :none, results.last.sent
  end

  def test_a_future_keeps_it
    future = Trunkline.deadline(0.2) { client(held.url, timeout: 10).async.get("/") }
    assert_instance_of Trunkline::DeadlineExceeded, future.value(5)
  end

  def test_carried_into_a_thread
    assert_nil(Trunkline.deadline(1) { Thread.new { Trunkline.deadline.left }.value })
    left, given = Trunkline.deadline(1) do
      Thread.new(3, &Trunkline.deadline.wrap { |number| [Trunkline.deadline.left, number] }).value
    end
    assert_in_delta 1, left, 0.5
    assert_equal 3, given
    assert_nil Trunkline.deadline.wrap { Trunkline.deadline.left }.call
  end

  # The scheduler runs its fibers while the fiber that set the deadline is still within its block.
  def test_bounds_the_fibers_of_a_scheduler_that_begins_inside
    server = held
    http = client(server.url, timeout: 10)
    errors = Trunkline.deadline(0.2) do
      Sync { Array.new(2) { Async { result_of { http.get("/") } } }.map(&:wait) }
    end
    assert_equal [Trunkline::DeadlineExceeded] * 2, errors.map(&:class)
    assert_nil(Sync { Trunkline.deadline.left })
  end

  def test_a_deadline_of_a_fiber_does_not_apply_to_other_fibers
    Sync do
      bounded = Async { Trunkline.deadline(5) { sleep(0.01) && Trunkline.deadline.left } }
      assert_nil Trunkline.deadline.left
      assert_in_delta 5, bounded.wait, 2
    end
  end

  def test_retries_end_with_it
    server = serve("HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n")
    response = Trunkline.deadline(0.5) { client(server.url, retry: true, timeout: 20).get("/") }
    assert_equal [503, 1], [response.status, response.attempts.size]
  end

  def test_deadline_header_sends_the_seconds_left
    server = serve
    http = client(server.url, timeout: 5, deadline_header: "X-Deadline")
    each_call_style do |style, call|
      call.call(http, :get, "/")
      Trunkline.deadline(1) { call.call(http, :get, "/") }
      own, bounded = server.requests.last(2).map { |request| Float(request["X-Deadline"]) }
      assert_in_delta 5, own, 0.5, style
      assert_in_delta 1, bounded, 0.5, style
    end
    assert_match(/\A[01]\.\d{3}\z/, server.requests.last["X-Deadline"])
    http.get("/", deadline_header: false)
    assert_nil server.requests.last["X-Deadline"]
  end

  def test_bad_input
    [["2", /deadline: must be a number of seconds/], [Float::NAN, /deadline/]].each do |seconds, message|
      assert_match message, assert_raises(Trunkline::InvalidRequest) { Trunkline.deadline(seconds) { 1 } }.message
    end
    assert_raises(Trunkline::InvalidRequest) { Trunkline.deadline(1) }
    assert_raises(Trunkline::InvalidRequest) { Trunkline.deadline { 1 } }
    assert_raises(Trunkline::InvalidRequest) { Trunkline.deadline.wrap }
  end
end
