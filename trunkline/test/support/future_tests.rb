# frozen_string_literal: true

# client.async, in plain threads and in a reactor.
module FutureTests
  def test_value_waits_for_the_response
    gate = Queue.new
    server = serve { |connection| connection << response_bytes("later") while connection.read_request && gate.pop }
    future = client(server.url).async.get("/")
    refute_predicate future, :ready?
    Thread.new { sleep(0.1) && gate << true }
    assert_equal "later", future.value.body
    assert_predicate future, :ready?
  end

  def test_futures_run_side_by_side
    probe = ConcurrencyProbe.new(8)
    server = serve { |connection| connection << response_bytes while connection.read_request && probe.wait }
    async = client(server.url).async
    Array.new(8) { async.get("/") }.each(&:value!)
    assert_equal 8, probe.most
  end

  # A request's timeout must not run while it waits for another request to end.
  def test_a_timeout_starts_when_the_request_starts
    server = serve { |connection| connection << response_bytes while connection.read_request && sleep(0.4) }
    async = client(server.url, timeout: 1, max_connections_per_host: 1).async
    futures = Array.new(4) { async.get("/") }
    assert_equal([200] * 4, futures.map { |future| future.value!.status })
    assert_operator futures.map { |future| future.value.timings.total }.max, :<, 1
  end

  def test_every_verb_and_option_is_there
    server = serve
    async = client(server.url).async
    [async.post("/", json: { n: 1 }), async.request("PROPFIND", "/", headers: { "X-A" => "b" })].each(&:value!)
    assert_equal %w[POST PROPFIND], server.requests.map(&:verb).sort
  end

  def test_an_error_is_the_value_and_value_with_a_bang_raises_it
    future = client(timeout: 2).async.get("http://127.0.0.1:#{refused_port}/")
    assert_instance_of Trunkline::ConnectError, future.value
    assert_raises(Trunkline::ConnectError) { future.value! }
  end

  def test_value_returns_nil_after_its_timeout_and_the_request_continues
    gate = Queue.new
    server = serve { |connection| connection.read_request && gate.pop && connection << response_bytes("late") }
    future = client(server.url).async.get("/")
    seconds, value = timed { future.value(0.05) }
    assert_nil value
    assert_took_less 0.25, seconds
    gate << true
    assert_equal "late", future.value(5).body
  end

  def test_cancel_ends_it
    server = serve(&:stall)
    http = client(server.url)
    future = http.async.get("/")
    server.wait_for_connections(1)
    assert future.cancel
    refute future.cancel
    assert_instance_of Trunkline::Cancelled, future.value
    eventually { http.stats[:in_use].zero? }
  end

  def test_then_gets_the_response
    http = client(serve(response_bytes("7")).url)
    assert_equal 14, http.async.get("/").then { |response| response.body.to_i * 2 }.value!
  end

  def test_then_passes_on_errors_and_those_of_its_block
    http = client(serve.url)
    refused = http.async.get("http://127.0.0.1:#{refused_port}/").then { flunk }
    assert_instance_of Trunkline::ConnectError, refused.value
    assert_raises(KeyError) { http.async.get("/").then { raise KeyError, "here" }.value! }
  end

  # Like SystemExit or NotImplementedError, not a StandardError.
  Stop = Class.new(Exception) # rubocop:disable Lint/InheritException

  def test_other_futures_are_settled_when_a_block_ends_the_thread
    server = serve { |connection| connection << response_bytes("7") while connection.read_request && sleep(0.1) }
    http = client(server.url)
    { -> { raise Stop, "here" } => Stop, -> { Thread.exit } => Trunkline::Cancelled }.each do |ending, error|
      first = http.async.get("/")
      ended = first.then { (Thread.current.report_on_exception = false) || ending.call }
      other = first.then(&:body)
      assert_instance_of error, ended.value(5)
      assert_equal "7", other.value(5)
      assert_equal "7", http.async.get("/").value!(5).body, "others go on"
    end
  end

  def test_a_time_to_wait_that_is_no_number_is_refused
    future = client(serve.url).async.get("/")
    ["1", Object.new, 1i, Float::NAN].each do |timeout|
      error = assert_raises(Trunkline::InvalidRequest) { future.value(timeout) }
      assert_match(/\Atimeout: must be a number of seconds/, error.message)
    end
  end

  def test_a_time_to_wait_that_no_clock_can_count
    server = serve { |connection| connection << response_bytes while connection.read_request && sleep(0.05) }
    http = client(server.url)
    [1e10, 1e300, 10**400, Float::INFINITY].each { |timeout| assert_equal 200, http.async.get("/").value(timeout).status }
    [-1, -1e300, -Float::INFINITY].each { |timeout| assert_nil http.async.get("/").value(timeout) }
  end

  def test_then_with_a_future_stands_for_its_value
    http = client(serve.url)
    assert_equal 200, http.async.get("/").then { http.async.get("/second") }.value!.status
  end

  def test_a_future_runs_although_its_value_is_not_read
    server = serve
    client(server.url).async.post("/fire", body: "and forget")
    server.wait_for_requests(1)
    assert_equal "and forget", server.requests.first.body
  end

  def test_redirects_are_followed
    server = serve(script: [[:read, redirect("/end"), :read, response_bytes("there")]])
    assert_equal "there", client(server.url, follow: 2).async.get("/").value!.body
  end

  def test_close_lets_futures_in_flight_finish_and_cancels_the_others
    gate = Queue.new
    server = serve { |connection| connection << response_bytes while connection.read_request && gate.pop }
    http = client(server.url, max_connections_per_host: 2)
    futures = Array.new(10) { http.async.get("/") }
    server.wait_for_requests(2)
    finishing = Thread.new do
      eventually { futures.count(&:ready?) == 8 }
      2.times { gate << true }
    end
    http.close
    assert(futures.all?(&:ready?))
    finishing.join
    completed, cancelled = futures.map(&:value).partition { |value| value.is_a?(Trunkline::Response) }
    assert_equal 2, completed.size
    assert_equal [Trunkline::Cancelled], cancelled.map(&:class).uniq
    assert_raises(Trunkline::ClosedError) { http.async.get("/") }
  end

  def test_a_bad_request_is_refused_at_once
    http = client(serve.url)
    assert_raises(Trunkline::InvalidRequest) { http.async.get("http://127.0.0.1:99999/") }
    assert_raises(Trunkline::InvalidRequest) { http.async.get("/", tiemout: 1) }
  end
end
