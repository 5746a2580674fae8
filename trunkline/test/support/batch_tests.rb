# frozen_string_literal: true

# client.batch, in plain threads and in a reactor.
module BatchTests
  # Like Interrupt, not a StandardError.
  Stop = Class.new(Exception) # rubocop:disable Lint/InheritException

  def test_batch_gives_results_in_the_order_they_were_added
    server = serve { |connection| reply_with_target(connection) }
    results = client(server.url).batch { |batch| 20.times { |number| batch.get("/#{number}") } }
    assert_equal (0...20).map { |number| "/#{number}" }, results.map(&:body)
  end

  def test_batch_passes_each_response_to_its_block
    server = serve { |connection| reply_with_target(connection) }
    bodies = []
    results = client(server.url).batch do |batch|
      batch.get("/one") { |response| bodies << response.body }
      batch.post("/two", body: "content") { |response| bodies << response.body }
    end
    assert_equal %w[/one /two], bodies.sort
    assert_empty results, "what a block took is not kept"
  end

  def test_batch_sends_methods_options_and_bodies
    server = serve
    client(server.url).batch do |batch|
      batch.put("/a", json: { n: 1 }, headers: { "X-Name" => "value" })
      batch.request("PROPFIND", "/b", params: { q: 1 })
      batch.add([:delete, "/c"])
    end
    put = server.requests.find { |request| request.verb == "PUT" }
    assert_equal ['{"n":1}', "value"], [put.body, put["X-Name"]]
    assert_equal ["DELETE /c", "PROPFIND /b?q=1", "PUT /a"],
                 server.requests.map { |request| "#{request.verb} #{request.target}" }.sort
  end

  def test_a_chain_keeps_as_many_in_flight_as_were_started
    probe = ConcurrencyProbe.new(4, 44)
    server = serve_held(probe)
    left = 40
    # concurrency: 10, since :auto may start fewer than four, for which the server would wait for ever.
    client(server.url).batch(concurrency: 10) do |batch|
      following = ->(_) { batch.get("/", &following) if (left -= 1) >= 0 }
      4.times { batch.get("/", &following) }
    end
    assert_equal 4, probe.most
    assert_equal 44, server.requests.size
  end

  def test_a_block_that_raises_ends_only_its_request
    completed = 0
    http = client(serve.url)
    error = assert_raises(RuntimeError) do
      http.batch do |batch|
        batch.get("/") { raise "the first" }
        10.times { batch.get("/") { completed += 1 } }
        batch.get("/") { raise "the last" }
      end
    end
    assert_match(/\Athe (first|last)\z/, error.message)
    assert_equal 10, completed
  end

  def test_an_exception_of_a_block_is_passed_to_on_error
    errors = []
    results = client(serve.url).batch(on_error: ->(error, request) { errors << [error.message, request[1]] }) do |batch|
      batch.get("/broken") { raise "no" }
      batch.get("/whole")
    end
    assert_equal [["no", "/broken"]], errors
    assert_equal [200], results.map(&:status)
  end

  def test_a_failed_request_has_its_error_as_result
    gone = refused_port
    complete, refused = client(serve.url).batch do |batch|
      batch.get("/")
      batch.get("http://127.0.0.1:#{gone}/")
    end
    assert_equal 200, complete.status
    assert_instance_of Trunkline::ConnectError, refused
    assert_facts refused, phase: :connect, sent: :none
  end

  def test_a_timeout_ends_only_its_request
    server = serve do |connection|
      while (request = connection.read_request)
        request.target == "/hang" ? connection.stall : connection << response_bytes
      end
    end
    seconds, (hung, complete) = timed do
      client(server.url).batch do |batch|
        batch.get("/hang", timeout: 0.3)
        batch.get("/")
      end
    end
    assert_instance_of Trunkline::TotalTimeout, hung
    assert_equal 200, complete.status
    assert_took 0.3, seconds, 0.2
  end

  # A request's timeout must not run while it waits for another request to end.
  def test_a_timeout_starts_when_the_request_starts
    server = serve { |connection| connection << response_bytes while connection.read_request && sleep(0.4) }
    results = client(server.url, timeout: 1).map(["/"] * 4, concurrency: 1)
    assert_equal([200] * 4, results.map(&:status))
    assert_operator results.map { |response| response.timings.total }.max, :<, 1
  end

  def test_redirects_are_followed
    server = serve do |connection|
      while (request = connection.read_request)
        connection << (request.target == "/end" ? response_bytes("there") : redirect("/end"))
      end
    end
    first, second = client(server.url).batch do |batch|
      batch.get("/start", follow: 3)
      batch.get("/start")
    end
    assert_equal ["there", 1, "/end"], [first.body, first.redirects.size, URI(first.url).path]
    assert_equal 302, second.status
  end

  def test_too_many_redirects_are_an_error_as_result
    server = serve(redirect("/again"))
    results = client(server.url).batch { |batch| batch.get("/", follow: 1) }
    assert_kind_of Trunkline::RedirectError, results.first
  end

  def test_the_total_timeout_spans_redirects
    server = serve do |connection|
      while connection.read_request
        sleep 0.15
        connection << redirect("/#{connection.requests.size}#{connection.number}")
      end
    end
    result, = client(server.url, timeout: 0.4, follow: 20).batch { |batch| batch.get("/start") }
    assert_instance_of Trunkline::TotalTimeout, result
    assert_took 0.4, result.elapsed, 0.1
    assert_match(/within 0.4 s/, result.message)
  end

  def test_a_host_that_hangs_does_not_block_the_slots_of_another
    go_on = Queue.new
    hanging = serve { |connection| connection << response_bytes while connection.read_request && go_on.pop }
    quick = serve
    done = []
    client.batch(concurrency: 2, max_in_flight: 4) do |batch|
      6.times { batch.get(hanging.url) { done << :hung } }
      20.times { batch.get(quick.url) { done.push(:quick).size == 20 && 6.times { go_on << true } } }
    end
    assert_equal [:quick] * 20 + [:hung] * 6, done
  end

  def test_a_fixed_concurrency_is_respected
    assert_most_at_once 3, concurrency: 3
  end

  def test_max_in_flight_is_respected
    assert_most_at_once 2, concurrency: 8, max_in_flight: 2
  end

  def test_rate_spreads_the_starts
    seconds, = timed { client(serve.url).batch(rate: "50/s") { |batch| 16.times { batch.get("/") } } }
    assert_operator seconds, :>=, 0.25
  end

  def test_retry_after_is_honoured
    seen = []
    server = serve do |connection|
      while connection.read_request
        seen << monotonic
        connection << (seen.size == 1 ? response_bytes("", status: "503 Busy", "Retry-After" => 1) : response_bytes)
      end
    end
    http = client(server.url)
    http.batch do |batch|
      batch.get("/first") { batch.get("/second") }
    end
    assert_operator seen[1] - seen[0], :>=, 0.95
  end

  def test_requests_may_come_from_another_thread_while_it_runs
    added = Queue.new
    server = serve do |connection|
      while (request = connection.read_request)
        added.pop if request.target == "/first"
        connection << response_bytes(request.target)
      end
    end
    bodies = []
    batch = client(server.url).batch
    batch.get("/first") { |response| bodies << response.body }
    adding = Thread.new do
      server.wait_for_requests(1)
      batch.get("/second") { |response| bodies << response.body }
      server.wait_for_requests(2)
      added << true
    end
    batch.run
    adding.join
    assert_equal %w[/first /second], bodies.sort
  end

  def test_progress_is_reported_while_a_batch_runs_and_at_the_end
    reported = []
    server = serve { |connection| reply_with_target(connection, after: 0.2) }
    client(server.url).batch(concurrency: 1, progress: ->(progress) { reported << progress }) do |batch|
      3.times { batch.get("/") { nil } }
    end
    assert_operator reported.size, :>=, 2
    assert_equal({ done: 3, failed: 0, in_flight: 0 }, reported.last.to_h.slice(:done, :failed, :in_flight))
    assert_equal 1, reported.first.limit
  end

  def test_an_interrupt_names_what_has_no_result
    others = Queue.new
    server = serve do |connection|
      while (request = connection.read_request)
        next (others << true) && connection.stall unless request.target == "/quick"

        2.times { others.pop } # two other requests have arrived
        connection << response_bytes
      end
    end
    http = client(server.url)
    cancelled = []
    batch = http.batch(concurrency: 3, on_cancel: ->(request) { cancelled << request[1] })
    batch.get("/quick") { raise Stop }
    4.times { |number| batch.get("/#{number}") }
    assert_raises(Stop) { batch.run }
    assert_equal %w[/0 /1 /2 /3], cancelled
    assert_equal(%w[/0 /1 /2 /3], batch.cancelled.map { |request| request[1] })
    assert_equal [Trunkline::Cancelled] * 4, batch.results.map(&:class)
    assert_equal(%i[partial partial none none], batch.results.map(&:sent))
    eventually { http.stats[:in_use].zero? }
  end

  def test_all_unfinished_requests_are_reported_although_on_cancel_raises
    server = serve do |connection|
      while (request = connection.read_request)
        request.target == "/quick" ? connection << response_bytes : connection.stall
      end
    end
    reported = []
    http = client(server.url)
    batch = http.batch(on_cancel: ->(request) { raise KeyError, (reported << request[1]).last })
    batch.get("/quick") { raise Stop }
    3.times { |number| batch.get("/#{number}") }
    error = assert_raises(KeyError) { batch.run }
    assert_equal "/0", error.message
    assert_instance_of Stop, error.cause
    assert_equal %w[/0 /1 /2], reported
    assert_equal(%w[/0 /1 /2], batch.cancelled.map { |request| request[1] })
    assert_equal [Trunkline::Cancelled] * 3, batch.results.map(&:class)
  end

  def test_a_call_may_be_made_while_a_batch_runs
    server = serve
    http = client(server.url)
    inner = nil
    http.batch { |batch| batch.get("/") { inner = http.get("/inner").status } }
    assert_equal 200, inner
  end

  private

  def reply_with_target(connection, after: 0)
    while (request = connection.read_request)
      sleep after if after.positive?
      connection << response_bytes(request.target)
    end
  end

  def serve_held(probe)
    serve { |connection| connection << response_bytes while connection.read_request && probe.wait }
  end

  # @param most [Integer] the largest number in flight that is permitted
  def assert_most_at_once(most, **options)
    probe = ConcurrencyProbe.new(most, 20)
    client(serve_held(probe).url).batch(**options) { |batch| 20.times { batch.get("/") } }
    assert_equal most, probe.most
  end
end
