# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_styles"

# The option breaker: stops calls to a failing origin for a while.
class TestBreaker < TrunklineTest
  include CallStyles

  # Seconds after which the circuit breaker of QUICK probes.
  COOLED = 0.35

  BROKEN = Responses.response_bytes("", status: "500 Broken")
  # QUICK opens at the third failure.
  QUICK = { minimum: 3, cool_down: 0.3 }.freeze
  STAYS_OPEN = { minimum: 3, cool_down: 60 }.freeze

  # Responds with 500 to /bad, to /slow when the block returns, and with 200 to all other paths.
  def serve_both(&block)
    serve do |connection|
      while (request = connection.read_request)
        block&.call if request.target == "/slow"
        connection << (request.target == "/bad" ? BROKEN : response_bytes)
      end
    end
  end

  def state(server, http) = http.stats[:breakers].dig(server.address, :state)

  # @return [BreakerOpen]
  def open_breaker(http)
    3.times { assert_equal 500, http.get("/bad").status }
    assert_raises(Trunkline::BreakerOpen) { http.get("/") }
  end

  def test_an_origin_that_fails_is_not_called
    each_call_style do |style, call|
      server = serve_both
      http = client(server.url, breaker: { minimum: 4, threshold: 0.5 })
      results = %w[/bad / /bad / /bad].map { |path| call.call(http, :get, path).status }
      assert_equal [500, 200, 500, 200, 500], results, style
      assert_instance_of Trunkline::BreakerOpen, call.call(http, :post, "/", body: "x"), style
      assert_equal 5, server.requests.size, style
      assert_equal :open, state(server, http), style
    end
  end

  def test_the_error_names_origin_reason_and_time_of_the_probe
    server = serve_both
    error = open_breaker(client(server.url, breaker: { minimum: 3, cool_down: 7 }))
    assert_includes 6.0..7.0, error.retry_in
    assert_equal [:none, :queue, 1, []], [error.sent, error.phase, error.attempt, error.attempts]
    assert_equal "/", error.request.uri.path
    assert_includes 0.0..1.0, error.elapsed
    why = "GET / was not sent: the breaker of #{server.address} is open, since 3 of 3 requests failed within 10.0 s"
    assert_match(/\A#{Regexp.escape(why)}; it probes in \d\.\d+ s \(breaker:\)\z/, error.message)
    assert_nil error.cause
    assert_kind_of Trunkline::Error, error
  end

  def test_the_breaker_closes_when_a_probe_succeeds
    server = serve_both
    http = client(server.url, breaker: QUICK)
    open_breaker(http)
    sleep COOLED
    assert_equal :half_open, state(server, http)
    assert_equal 200, http.get("/").status
    assert_equal :closed, state(server, http)
    assert_equal 500, http.get("/bad").status
    assert_equal :closed, state(server, http)
  end

  def test_the_breaker_opens_again_when_a_probe_fails
    server = serve_both
    http = client(server.url, breaker: QUICK)
    open_breaker(http)
    sleep COOLED
    assert_equal 500, http.get("/bad").status
    assert_raises(Trunkline::BreakerOpen) { http.get("/") }
    assert_equal 4, server.requests.size
    assert_equal 2, http.stats[:breakers][server.address][:openings]
  end

  def test_one_of_many_calls_is_the_probe
    hold = Thread::Queue.new
    server = serve_both { hold.pop }
    http = client(server.url, breaker: QUICK)
    open_breaker(http)
    sleep COOLED
    probe = http.async.get("/slow")
    server.wait_for_requests(4)
    others = http.map(["/slow"] * 20) + Array.new(5) { Thread.new { result_of { http.get("/slow") } } }.map(&:value)
    assert_equal({ Trunkline::BreakerOpen => 25 }, others.map(&:class).tally)
    assert_equal 4, server.requests.size
    hold << true
    assert_equal 200, probe.value.status
    assert_equal [200] * 3, http.map(["/"] * 3).map(&:status)
  end

  def test_a_batch_probes_with_one_of_its_requests
    server = serve_both
    http = client(server.url, breaker: QUICK)
    open_breaker(http)
    sleep COOLED
    results = http.map(["/bad"] * 10, concurrency: 10)
    assert_equal({ Trunkline::BreakerOpen => 9, Trunkline::Response => 1 }, results.map(&:class).tally)
    assert_equal 4, server.requests.size
  end

  # Ways in which a probe can end without a result.
  GIVEN_UP = {
    killed: ->(http) { Thread.new { http.get("/slow") }.tap { |thread| sleep 0.1 and thread.kill.join } },
    raised: lambda do |http|
      thread = Thread.new { http.get("/slow") }
      thread.report_on_exception = false
      sleep 0.1
      thread.raise(Timeout::Error)
      thread.join(5)
    end,
    timed_out: ->(http) { Timeout.timeout(0.1) { http.get("/slow") } },
    future_cancelled: ->(http) { http.async.get("/slow").tap { sleep 0.1 }.cancel and sleep 0.1 },
    batch_left: ->(http) { http.each(["/slow", "/other"]).first },
    batch_interrupted: ->(http) { Timeout.timeout(0.1) { http.map(["/slow"]) } },
    deadline: ->(http) { Trunkline.deadline(0.1) { http.get("/slow") } }
  }.freeze

  GIVEN_UP.each do |how, give_up|
    define_method(:"test_a_probe_that_is_#{how}_gives_its_place_back") do
      hold = Thread::Queue.new
      server = serve_both { hold.pop }
      http = client(server.url, breaker: { **QUICK, cool_down: 0.6 })
      open_breaker(http)
      sleep 0.65
      begin
        give_up.call(http)
      rescue Timeout::Error, Trunkline::DeadlineExceeded
        true
      end
      assert_equal :half_open, state(server, http)
      assert_equal 200, http.get("/").status # and not BreakerOpen
      hold << true
    end
  end

  def test_connect_errors_and_timeouts_are_failures
    port = refused_port
    http = client("http://127.0.0.1:#{port}", breaker: { minimum: 1 })
    assert_raises(Trunkline::ConnectError) { http.get("/") }
    assert_raises(Trunkline::BreakerOpen) { http.get("/") }

    silent = serve { |connection| connection.read_request && sleep(5) }
    [{ first_byte: 0.1 }, 0.1].each do |timeout|
      Trunkline::Policy::State.clear
      http = client(silent.url, timeout: timeout, breaker: { minimum: 1 })
      assert_raises(Trunkline::TimeoutError) { http.get("/") }
      assert_raises(Trunkline::BreakerOpen) { http.get("/") }
    end
  end

  def test_calls_that_the_caller_ends_are_no_failures
    silent = serve { |connection| connection.read_request && sleep(5) }
    http = client(silent.url, breaker: { minimum: 1 }, max_connections_per_host: 1)
    assert_raises(Trunkline::DeadlineExceeded) { Trunkline.deadline(0.1) { http.get("/") } }
    future = http.async.get("/")
    silent.wait_for_requests(2)
    assert_raises(Trunkline::QueueTimeout) { http.get("/", timeout: { queue: 0.1, total: 5 }) }
    future.cancel
    assert_raises(Trunkline::InvalidRequest) { http.get("/", headers: { "A" => "\n" }) }
    stats = http.stats[:breakers][silent.address]
    assert_equal [:closed, 0, 0], stats.values_at(:state, :requests, :failures)
  end

  def test_a_rule_of_the_caller_decides_what_is_a_failure
    server = serve_sequence("/" => [response_bytes("", status: "429 Slow")], "/bad" => [BROKEN])
    rule = ->(result) { result.is_a?(Trunkline::Response) && result.status == 429 }
    http = client(server.url, breaker: { minimum: 2, failure: rule })
    3.times { assert_equal 500, http.get("/bad").status }
    4.times { result_of { http.get("/") } }
    assert_instance_of Trunkline::BreakerOpen, result_of { http.get("/") }
  end

  def test_a_failure_rule_that_raises_closes_the_response
    server = serve(response_bytes("x" * 100_000))
    http = client(server.url, breaker: { failure: ->(_) { raise IOError, "no rule" } })
    assert_raises(IOError) { http.get("/", stream: true) }
    assert_equal 0, http.stats[:in_use]
    assert_equal "no rule", result_in_batch(http).message
    assert_equal 0, http.stats[:breakers][server.address][:requests]
  end

  def result_in_batch(http)
    http.map(["/"]).first
  rescue IOError => error
    error
  end

  def test_all_clients_share_the_state_of_an_origin
    server = serve_both
    open_breaker(client(server.url, breaker: STAYS_OPEN))
    other = client(server.url, breaker: STAYS_OPEN)
    assert_raises(Trunkline::BreakerOpen) { other.get("/") }
    assert_raises(Trunkline::BreakerOpen) { client(breaker: STAYS_OPEN).get("#{server.url}a") }
    assert_equal 200, client(server.url).get("/").status
    assert_equal 200, other.get("/", breaker: false).status
    assert_equal 200, client(serve_both.url, breaker: STAYS_OPEN).get("/").status
  end

  def test_clients_with_different_settings_have_separate_breakers
    server = serve_both
    open_breaker(client(server.url, breaker: STAYS_OPEN))
    [true, { **STAYS_OPEN, failure: ->(_) { false } }].each do |settings|
      other = client(server.url, breaker: settings)
      assert_equal 200, other.get("/").status
      assert_equal :open, state(server, other) # stats show the breaker that refuses most
    end
  end

  def test_a_forked_process_inherits_the_state
    server = serve_both
    http = client(server.url, breaker: { **QUICK, cool_down: 3 }) # forking may take long
    open_breaker(http)
    assert_equal [:open, Trunkline::BreakerOpen], in_child { [state(server, http), result_of { http.get("/") }.class] }
    sleep 3.1
    assert_equal [200, :closed], in_child { [http.get("/").status, state(server, http)] }
    assert_equal :half_open, state(server, http)
  end

  def test_a_forked_child_probes_while_its_parent_is_probing
    hold = Thread::Queue.new
    server = serve_both { hold.pop }
    http = client(server.url, breaker: { **QUICK, cool_down: 2 }) # forking may take long
    open_breaker(http)
    sleep 2.1
    probe = Thread.new { http.get("/slow").status }
    server.wait_for_requests(4)
    assert_equal([Trunkline::BreakerOpen, 200], in_child do
      first = result_of { http.get("/") }.class
      sleep 2.1
      [first, http.get("/").status]
    end)
    hold << true
    assert_equal 200, probe.value
  end

  def in_child
    reader, writer = IO.pipe
    pid = fork do
      writer.write(Marshal.dump(yield))
      writer.close
      exit!(0)
    end
    writer.close
    Marshal.load(reader.read) # rubocop:disable Security/MarshalLoad -- of our own child
  ensure
    reader.close
    Process.wait(pid)
  end

  # Raising the error again on its way would create its backtrace frame by frame, which costs more than the rest of the
  # call.
  def test_the_backtrace_of_a_refusal_is_created_lazily
    server = serve_both
    http = client(server.url, breaker: QUICK, retry: true)
    error = open_breaker(http)
    strings = deep(200) do
      GC.disable
      before = ObjectSpace.count_objects[:T_STRING]
      result_of { http.get("/") }
      ObjectSpace.count_objects[:T_STRING] - before
    ensure
      GC.enable
    end
    assert_operator strings, :<, 100
    assert_match(/test_breaker/, error.backtrace.join("\n"))
  end

  def deep(frames, &block) = frames.zero? ? block.call : deep(frames - 1, &block)

  def test_the_error_reports_what_earlier_attempts_sent
    server = serve_both
    http = client(server.url, breaker: QUICK, retry: { attempts: 9, statuses: [500], backoff: 0.001..0.001 })
    error = assert_raises(Trunkline::BreakerOpen) { http.get("/bad") }
    assert_equal [:all, 4, [500] * 3], [error.sent, error.attempt, error.attempts.map(&:status)]
    assert_equal 3, server.requests.size
  end

  def test_a_store_with_a_missing_or_old_gem_is_refused
    { %w[no_such_gem 1.0] => /needs the gem no_such_gem \(1\.0 or newer\), which is not installed/,
      %w[minitest 99.0] => /needs minitest 99\.0 or newer, found 5/ }.each do |wanted, words|
      error = assert_raises(Trunkline::InvalidRequest) { Trunkline::Policy::Breaker::Store.new(*wanted) }
      assert_match words, error.message
    end
  end

  def test_bad_settings
    { { treshold: 0.5 } => "did you mean threshold:", { threshold: 0 } => "threshold: must be a number from",
      { threshold: 50 } => "got 50", { minimum: 0 } => "an Integer from 1", { window: "10s" } => "seconds",
      { cool_down: -1 } => "cool_down:", { probes: 1.5 } => "probes: must be an Integer", { failure: 5 } => "callable",
      { store: :redis } => "store: must be a Trunkline::Policy::Breaker", 5 => "breaker: must be true, false, or a Hash" }
      .each do |settings, words|
        error = assert_raises(Trunkline::InvalidRequest) { client("https://api.test", breaker: settings) }
        assert_includes error.message, words
      end
    [nil, false].each { |off| assert_empty client("https://api.test", breaker: off).stats[:breakers] }
  end
end
