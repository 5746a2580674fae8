# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_styles"
require_relative "../support/fibers"
require "tempfile"

# The option retry: which requests are sent again, and what is reported of them.
class TestRetry < TrunklineTest
  include CallStyles

  BUSY = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
  QUICK = { backoff: 0.001..0.002, budget: false }.freeze

  def test_a_failure_that_passes_is_not_seen
    each_call_style do |style, call|
      server = serve_sequence("/" => [BUSY, nil, response_bytes("fine")])
      response = call.call(client(server.url, retry: QUICK), :get, "/")
      assert_equal [200, "fine"], [response.status, response.body], style
      assert_equal [[1, :first, 503, nil], [2, :retry, nil, "ConnectionClosed"], [3, :retry, 200, nil]],
                   response.attempts.map { |one| [one.number, one.reason, one.status, one.error] }, style
      assert_equal 3, server.requests.size, style
    end
  end

  def test_each_attempt_is_reported_with_its_times
    server = serve_sequence("/" => [BUSY, response_bytes("fine")])
    before = Time.now
    first, second = client(server.url, retry: { backoff: 0.06..0.06 }).get("/").attempts
    assert_equal [503, 200], [first.status, second.status]
    assert_operator first.started_at, :>=, before
    assert_operator second.started_at, :>=, first.started_at + first.elapsed + second.waited - 0.01
    assert_operator second.waited, :>, 0
    assert_equal 0, first.waited.round(2)
    assert_equal [server.address] * 2, [first, second].map(&:address)
    assert_equal first.connection.id, second.connection.id
    assert_equal %i[all all], [first, second].map(&:sent)
    assert_predicate second, :frozen?
  end

  def test_the_last_result_stands
    each_call_style do |style, call|
      server = serve_sequence("/" => [BUSY], "/closed" => [nil])
      http = client(server.url, retry: QUICK)
      response = call.call(http, :get, "/")
      assert_equal [503, "busy", 3], [response.status, response.body, response.attempts.size], style
      error = call.call(http, :get, "/closed")
      assert_instance_of Trunkline::ConnectionClosed, error, style
      assert_equal [3, 3, :all], [error.attempts.size, error.attempt, error.sent], style
      assert_match(/\(attempt 3\)\z/, error.message)
      assert_equal 6, server.requests.size, style
    end
  end

  def test_unsafe_methods_are_sent_once
    each_call_style do |style, call|
      server = serve_sequence("/" => [BUSY], "/closed" => [nil])
      http = client(server.url, retry: QUICK)
      assert_equal [503, 1], call.call(http, :post, "/", json: { a: 1 }).then { |one| [one.status, one.attempts.size] }
      assert_instance_of Trunkline::ConnectionClosed, call.call(http, :patch, "/closed", body: "x"), style
      assert_equal 2, server.requests.size, style
    end
  end

  def test_a_post_that_was_not_sent_is_repeated
    each_call_style do |style, call|
      error = call.call(client("http://127.0.0.1:#{refused_port}", retry: QUICK), :post, "/", body: "x")
      assert_instance_of Trunkline::ConnectError, error, style
      assert_equal [3, :none], [error.attempts.size, error.sent], style
    end
  end

  def test_a_request_with_a_key_is_repeated
    each_call_style do |style, call|
      server = serve_sequence("/" => [BUSY, response_bytes], "/own" => [BUSY, response_bytes],
                              "/get" => [response_bytes])
      http = client(server.url, retry: { **QUICK, idempotency_key: true })
      assert_equal 200, call.call(http, :post, "/", json: { a: 1 }).status, style
      call.call(http, :post, "/own", headers: { "Idempotency-Key" => "mine" })
      call.call(http, :get, "/get")
      keys = server.requests.map { |request| request["Idempotency-Key"] }
      assert_equal keys[0], keys[1], style
      assert_match(/\A\h{8}-\h{4}-4\h{3}-[89ab]\h{3}-\h{12}\z/, keys[0], style)
      assert_equal ["mine", "mine", nil], keys.drop(2), style
      assert_equal ['{"a":1}'] * 2, server.requests.first(2).map(&:body), style
    end
  end

  def test_a_body_is_sent_from_its_beginning
    each_call_style do |style, call|
      server = serve_sequence("/" => [BUSY, response_bytes])
      file = Tempfile.create("body").tap { |one| one.write("content") && one.rewind }
      assert_equal 200, call.call(client(server.url, retry: QUICK), :put, "/", body: file).status, style
      assert_equal %w[content content], server.requests.map(&:body), style
    ensure
      file&.close
      File.unlink(file) if file
    end
  end

  def test_a_body_that_cannot_be_rewound_is_sent_once
    each_call_style do |style, call|
      server = serve_sequence("/" => [BUSY, response_bytes])
      response = call.call(client(server.url, retry: QUICK), :put, "/", body: %w[a b].each)
      assert_equal [503, 1], [response.status, server.requests.size], style
    end
  end

  def test_retry_after_is_obeyed
    server = serve_sequence("/" => [response_bytes("", "Retry-After" => "1", status: "503 Wait"), response_bytes],
                            "/long" => [response_bytes("", "Retry-After" => "60", status: "503 Wait"), response_bytes],
                            "/date" => [response_bytes("", "Retry-After" => (Time.now + 100).httpdate,
                                                           status: "429 Wait")])
    http = client(server.url, retry: { max_wait: 5 }, timeout: 10)
    began = Trunkline::Engine.now
    assert_equal 1.0, http.get("/").attempts.last.waited.round(1)
    assert_in_delta 1, Trunkline::Engine.now - began, 0.5
    assert_equal [503, 1], http.get("/long").then { |one| [one.status, one.attempts.size] }
    assert_equal [429, 1], http.get("/date").then { |one| [one.status, one.attempts.size] }
  end

  def test_an_attempt_that_cannot_end_in_time_is_not_begun
    each_call_style do |style, call|
      server = serve_sequence("/" => [response_bytes("", "Retry-After" => "2", status: "503 Wait"), response_bytes])
      began = Trunkline::Engine.now
      response = call.call(client(server.url, retry: true, timeout: 1), :get, "/")
      assert_equal [503, 1], [response.status, server.requests.size], style
      assert_operator Trunkline::Engine.now - began, :<, 0.9, style
    end
  end

  # The block of another call blocks the thread that drives both calls, beyond the end of the wait and of the total
  # timeout.
  def test_the_last_result_stands_when_a_wait_takes_too_long
    busy = "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy"
    while_on_time do
      server = serve_sequence("/busy" => [busy], "/other" => [response_bytes])
      result = nil
      client(server.url, timeout: 1.5, retry: true).batch do |batch|
        batch.get("/busy") { |response| result = response }
        batch.get("/other", retry: false) { sleep 1.6 }
      end
      assert_instance_of Trunkline::Response, result
      assert_equal [503, "busy", 1], [result.status, result.body, result.attempts.size]
    end
  end

  def test_the_total_bounds_all_attempts
    held = serve { |connection| connection.read_request && sleep(0.3) }
    each_call_style do |style, call|
      while_on_time do
        began = Trunkline::Engine.now
        error = call.call(client(held.url, retry: { attempts: 9, **QUICK }, timeout: 0.5), :get, "/")
        assert_instance_of Trunkline::TotalTimeout, error, style
        assert_in_delta 0.5, Trunkline::Engine.now - began, 0.4, style
        assert_operator error.attempts.size, :>=, 2, style
      end
    end
  end

  def test_a_wait_parks_the_fiber
    paths = Array.new(10) { |index| "/#{index}" }
    server = serve_sequence(paths.to_h { |path| [path, [BUSY, response_bytes("fine")]] })
    http = client(server.url, retry: { backoff: 0.4..0.4, budget: false })
    began = Trunkline::Engine.now
    waited = Sync { |task| paths.map { |path| task.async { http.get(path).attempts.last.waited } }.map(&:wait) }.sum
    assert_operator Trunkline::Engine.now - began, :<, waited
  end

  def test_statuses_methods_and_errors_to_repeat_can_be_chosen
    server = serve_sequence("/" => [BUSY, response_bytes],
                            "/500" => [response_bytes("", status: "500 Oh"), response_bytes],
                            "/post" => [BUSY, response_bytes], "/closed" => [nil, response_bytes])
    http = client(server.url, retry: { **QUICK, statuses: [500], methods: %i[get post], errors: [] })
    assert_equal [503, 200, 503], [http.get("/"), http.get("/500"), http.post("/post")].map(&:status)
    assert_raises(Trunkline::ConnectionClosed) { http.get("/closed") }
    assert_equal 200, http.post("/post", body: "x").status
  end

  def test_false_turns_it_off_for_a_call
    server = serve_sequence("/" => [BUSY])
    http = client(server.url, retry: QUICK)
    each_call_style do |style, call|
      assert_equal 1, call.call(http, :get, "/", retry: false).attempts.size, style
    end
  end

  def test_policies_standard
    options = Trunkline::Options.defaults.merge(policies: :standard, timeout: { connect: 1 })
    assert_kind_of Trunkline::Policy::Retry, options.retry
    assert_kind_of Trunkline::Policy::Breaker, options.breaker
    assert_equal [1.0, 30.0], [options.timeout.connect, options.timeout.total]
    assert_nil Trunkline::Options.defaults.merge(policies: :standard, timeout: 3, retry: false).retry
  end

  def test_bad_settings
    { { atempts: 2 } => /retry: has no setting :atempts; did you mean attempts:\?/,
      { attempts: 0 } => /retry: attempts: must be an Integer from 1 to 100, got 0/,
      { backoff: 2 } => /retry: backoff: must be a Range of seconds, such as 0\.1\.\.2\.0, got 2/,
      { backoff: 2..1 } => /retry: backoff: .* got 2\.\.1/,
      { budget: 10 } => /retry: budget: must be false, or a number from 0\.0 to 1\.0, got 10/,
      { statuses: [200] } => /retry: statuses: .* got \[200\]/,
      { errors: [StandardError] } => /retry: errors: must be an Array of error classes of Trunkline/,
      { methods: :all } => /retry: methods: must be :idempotent, or an Array/,
      3 => /retry: must be true, false, or a Hash of attempts, statuses/ }.each do |value, message|
      assert_match message, assert_raises(Trunkline::InvalidRequest) { client("http://a.test", retry: value) }.message
    end
  end
end
