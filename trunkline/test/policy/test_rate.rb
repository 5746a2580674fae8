# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/small_scheduler"
require_relative "../support/call_styles"

# The option rate: no more requests start than the caller or the server permits.
class TestRate < TrunklineTest
  include CallStyles

  # @return [Array(ScriptedServer, Proc)] the server, and a proc that returns the arrival times of its requests
  def serve_noting_times
    times = Thread::Queue.new
    server = serve do |connection|
      while connection.read_request
        times << now
        connection << response_bytes
      end
    end
    [server, -> { Array.new(times.size) { times.pop }.sort }]
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def took
    began = now
    yield
    now - began
  end

  # Records the calls of a store that keeps turns outside of the process.
  class NotedStore
    attr_reader :calls

    def initialize
      @calls = Thread::Queue.new
    end

    def pace(*settings)
      @calls << settings
      self
    end

    def reserve(*) = [0.0, :slot]

    def delay(_now) = 0.0

    def learn(_slot, response, _now) = @calls << response.status

    def ended(slot) = @calls << slot
  end

  def test_a_store_reserves_slots_and_gets_the_status_of_each_request
    server, = serve_noting_times
    store = NotedStore.new
    http = client(server.url, rate: { per_second: 20, store: store })
    http.get("/")
    label = server.url[%r{//([^/]*)}, 1]

    assert_equal [[label, 20.0, 1], 200, :slot], Array.new(store.calls.size) { store.calls.pop }
    assert_raises(Trunkline::Error) { client("http://127.0.0.1:1", rate: { store: store }).get("/") }
    assert_equal [["127.0.0.1:1", nil, nil], :slot], Array.new(store.calls.size) { store.calls.pop }
    error = assert_raises(Trunkline::InvalidRequest) { client("http://127.0.0.1:1", rate: { store: 5 }) }
    assert_match(/store: must be an object with pace/, error.message)
  end

  def test_requests_start_at_the_rate_in_every_call_style
    server, times = serve_noting_times
    http = client(server.url, rate: { per_second: 20, burst: 2 })
    { alone: -> { 8.times { http.get("/") } },
      threads: -> { Array.new(8) { Thread.new { http.get("/") } }.each(&:join) },
      map: -> { http.map(["/"] * 8) },
      each: -> { http.each(["/"].each_entry.lazy.cycle.first(8)) { |_, result| assert_equal 200, result.status } },
      batch: -> { http.batch { |batch| 8.times { batch.get("/") } } },
      futures: -> { Array.new(8) { http.async.get("/") }.each(&:value) } }.each do |style, calls|
      Trunkline::Policy::State.clear
      began = now
      calls.call
      seen = times.call.map { |time| time - began }
      assert_equal 8, seen.size, style
      # two at once, then six at the rate; a late arrival makes none of the others early
      seen.drop(1).each_with_index { |time, number| assert_operator time, :>=, (number * 0.05) - 0.001, style }
      assert_operator seen.last, :<, 3, style
    end
  end

  def test_calls_start_in_the_order_of_their_arrival
    server = serve
    http = client(server.url, rate: { per_second: 10, burst: 1 })
    http.get("/first")
    threads = Array.new(5) do |number|
      Thread.new { http.get("/#{number}") }.tap { sleep 0.05 }
    end
    threads.each(&:join)
    assert_equal %w[/first /0 /1 /2 /3 /4], server.requests.map(&:target)
  end

  def test_a_turn_that_comes_too_late_is_not_waited_for
    each_call_style(but: %i[batch each map future]) do |style, call|
      Trunkline::Policy::State.clear
      server = serve
      http = client(server.url, rate: { per_second: 0.1, burst: 1 }, timeout: 2)
      http.get("/")
      error = nil
      assert_operator took { error = call.call(http, :get, "/") }, :<, 1, style
      assert_instance_of Trunkline::QueueTimeout, error, style
      assert_equal [:none, :queue, 1], [error.sent, error.phase, error.attempt], style
      why = "GET / at #{server.address} was not sent: the rate is 0.1 a second, with a burst of 1; its turn is"
      assert_match(/\A#{Regexp.escape(why)} in (?:10.0|9.\d+) s, and it may wait for (?:2.0|1.\d+) s \(rate:\)\z/,
                   error.message)
      assert_equal 1, server.requests.size, style
    end
  end

  def test_queue_timeout_and_deadline_bound_the_wait
    http = client(serve.url, rate: { per_second: 2, burst: 1 })
    http.get("/")
    assert_raises(Trunkline::QueueTimeout) { http.get("/", timeout: { queue: 0.1, total: 10 }) }
    assert_raises(Trunkline::QueueTimeout) { Trunkline.deadline(0.1) { http.get("/") } }
    assert_equal 200, http.get("/", timeout: { queue: 2, total: 10 }).status
  end

  def test_among_many_a_turn_is_waited_for_where_it_costs_no_time
    server, times = serve_noting_times
    http = client(server.url, rate: { per_second: 4, burst: 1 }, timeout: 0.6)
    assert_equal [200] * 5, http.map(["/"] * 5).map(&:status) # takes a second
    assert_operator times.call.each_cons(2).map { |one, two| two - one }.min, :>, 0.15
  end

  def test_only_the_limited_origin_is_delayed
    slow = serve
    quick = serve
    key = ->(request) { "slow" if request.uri.to_s.start_with?(slow.url) }
    http = client(rate: { per_second: 5, burst: 1, key: key })
    order = []
    urls = ([slow.url] * 4).zip([quick.url] * 4).flatten
    seconds = took { http.each(urls, concurrency: 2) { |url, result| order << url if result.status == 200 } }
    assert_equal 8, order.size
    assert_operator order.first(6).count(quick.url), :>=, 4
    assert_operator seconds, :>, 0.55
  end

  def test_an_endless_enumerable_is_pulled_as_it_is_sent
    server = serve
    client(server.url).each(["/"]) { nil } # a first call is slow enough to try other origins (OriginQueue::STALL)
    http = client(server.url, rate: { per_second: 20, burst: 1 })
    while_on_time do
      pulled = done = 0
      endless = Enumerator.new { |urls| loop { urls << "/#{pulled += 1}" } }
      http.each(endless) { break if (done += 1) == 6 }
      assert_operator pulled, :<=, 6 + 2
    end
  end

  # A request that was pulled and held back starts when the rate permits it, before further requests are pulled.
  def test_no_more_is_pulled_when_a_turn_comes_while_a_block_runs
    pulled = done = 0
    endless = Enumerator.new { |urls| loop { urls << "/#{pulled += 1}" } }
    http = client(serve.url, rate: { per_second: 20, burst: 1 })
    http.each(endless) { sleep(0.1) && (done += 1) == 4 && break }
    assert_operator pulled, :<=, 4 + 2
  end

  def test_the_wait_for_a_slot_is_reported_in_attempts
    http = client(serve.url, rate: { per_second: 1, burst: 1 })
    http.get("/")
    assert_includes 0.1..2.0, http.get("/").attempts.first.waited
  end

  def test_a_turn_after_the_deadline_is_not_waited_for_among_many
    server = serve
    http = client(server.url, rate: { per_second: 1, burst: 1 })
    seconds = took do
      results = Trunkline.deadline(0.4) { http.map(["/"] * 4) + Array.new(2) { http.async.get("/") } }
      results.map! { |one| one.is_a?(Trunkline::Future) ? result_of { one.value } : one }
      assert_equal({ Trunkline::Response => 1, Trunkline::QueueTimeout => 5 }, results.map(&:class).tally)
    end
    assert_operator seconds, :<, 0.9
    assert_equal 1, server.requests.size
  end

  def test_a_key_that_raises_ends_its_own_request
    key = ->(request) { request.uri.path == "/bad" ? raise(IOError, "no key") : "key" }
    http = client(serve.url, rate: { per_second: 100, key: key })
    assert_raises(IOError) { http.get("/bad") }
    assert_instance_of IOError, http.async.get("/bad").value
    assert_equal [Trunkline::Response, IOError, Trunkline::Response], http.map(%w[/a /bad /b]).map(&:class)
  end

  def test_clients_share_a_key
    servers = [serve, serve]
    settings = { per_second: 0.01, burst: 2, key: "search" }
    clients = servers.map { |server| client(server.url, rate: settings, timeout: 1) }
    assert_equal [200, 200], clients.map { |http| http.get("/").status }
    error = assert_raises(Trunkline::QueueTimeout) { clients.first.get("/") }
    assert_match(/for the key "search"/, error.message)
    stats = clients.first.stats[:rates]["search"]
    assert_equal [0.01, 2], stats.values_at(:per_second, :burst)
    assert_in_delta 100, stats[:wait], 10
    assert_equal 200, clients.first.get("/", rate: false).status
    assert_equal 200, client(servers.first.url, rate: { per_second: 1 }).get("/").status
  end

  def test_a_waiting_call_that_times_out_releases_its_slot
    server = serve
    http = client(server.url, rate: { per_second: 1, burst: 1 })
    http.get("/")
    5.times do
      waiting = Thread.new { http.get("/never") }
      sleep 0.05
      waiting.kill.join
    end
    # A future is held back before it starts, and takes no turn.
    http.async.get("/never").tap { sleep 0.05 }.cancel
    assert_operator http.stats[:rates][server.address][:wait], :<, 1
    assert_equal 200, http.get("/").status
    assert_equal 2, server.requests.size
  end

  def test_under_a_fiber_scheduler_other_fibers_go_on
    http = client(serve.url, rate: { per_second: 2, burst: 1 })
    other = client(serve.url)
    order = []
    Thread.new do
      Fiber.set_scheduler(SmallScheduler.new)
      Fiber.schedule { 2.times { http.get("/") } and order << :held_back }
      Fiber.schedule { 3.times { other.get("/") } and order << :free }
    end.join
    assert_equal %i[free held_back], order
  end

  def test_a_retry_waits_for_its_turn_too
    server = serve_sequence("/" => [response_bytes("", status: "503 Busy"), response_bytes])
    http = client(server.url, rate: { per_second: 1, burst: 1 }, retry: { backoff: 0.001..0.002 })
    response = http.get("/")
    assert_equal 2, response.attempts.size
    assert_includes 0.1..2.0, response.attempts.last.waited
  end

  # ---- rate: :server ----

  # A server that accepts `limit` requests in each period, and refuses the others with 429.
  # @param slow [Array<Float>] seconds for which the server delays counting the first requests
  # @yield [left, seconds] returns the fields of a response
  def serve_limited(limit, period: 1, slow: [], &fields)
    lock = Mutex.new
    ends = now + period
    taken = 0
    serve do |connection|
      while connection.read_request
        sleep(slow.shift || 0)
        refused, limits = lock.synchronize do
          periods = ((now - ends) / period).floor + 1
          taken = 0 if periods.positive?
          ends += [periods, 0].max * period
          taken += 1
          [taken > limit, fields.call([limit - taken, 0].max, ends - now)]
        end
        connection << response_bytes("", status: refused ? "429 Slow" : "200 OK", **limits)
      end
    end
  end

  FIELDS = {
    draft: lambda do |left, seconds|
      { "RateLimit" => "\"default\";r=#{left};t=#{seconds.ceil}", "RateLimit-Policy" => '"default";q=10;w=1' }
    end,
    x_seconds: ->(left, seconds) { { "X-RateLimit-Remaining" => left, "X-RateLimit-Reset-After" => seconds.ceil } },
    x_moment: lambda do |left, seconds|
      reset = (Time.now.to_f + seconds).ceil
      { "X-RateLimit-Limit" => 10, "X-RateLimit-Remaining" => left, "X-RateLimit-Reset" => reset }
    end
  }.freeze

  FIELDS.each do |form, fields|
    define_method(:"test_what_the_server_tells_by_#{form}_is_kept_to") { while_on_time { assert_kept_to(&fields) } }
  end

  # The caller repeats this when the machine was late: a delayed response reports a period that has ended.
  def assert_kept_to(&fields)
    server = serve_limited(10, &fields)
    http = client(server.url, rate: :server, max_connections_per_host: 4)
    results = http.map(["/"] * 15, concurrency: 4)
    assert_equal({ 200 => 15 }, results.map(&:status).tally)
    threads = Array.new(4) { Thread.new { Array.new(2) { http.get("/").status } } }
    assert_equal({ 200 => 8 }, threads.flat_map(&:value).tally)
  end

  def test_requests_that_the_server_counts_late_are_subtracted
    server = serve_limited(10, period: 2, slow: [0.1, 0.2], &FIELDS[:draft])
    http = client(server.url, rate: :server)
    assert_equal({ 200 => 15 }, http.map(["/"] * 15, concurrency: 4).map(&:status).tally)
  end

  def test_retry_after_delays_all_calls
    server = serve_sequence("/" => [response_bytes("", status: "429 Slow", "Retry-After" => 1), response_bytes])
    http = client(server.url, rate: true)
    assert_equal 429, http.get("/").status
    assert_operator took { assert_equal 200, http.get("/").status }, :>, 0.9
  end

  def test_a_server_that_wants_an_hour_is_not_waited_for
    server = serve(response_bytes("", "RateLimit" => '"day";r=0;t=3600'))
    http = client(server.url, rate: :server)
    http.get("/")
    each_call_style do |style, call|
      error = nil
      assert_operator took { error = call.call(http, :get, "/") }, :<, 1, style
      assert_instance_of Trunkline::QueueTimeout, error, style
      assert_match(/the server's limit is used up; its turn is in 3\d{3}/, error.message)
    end
    assert_equal({ limit: 1, remaining: 0 }, http.stats[:rates][server.address][:windows]["day"].except(:reset))
    assert_equal 1, server.requests.size
  end

  def test_a_server_without_rate_limit_fields_is_not_limited
    http = client(serve.url, rate: :server)
    assert_operator took { assert_equal [200] * 50, http.map(["/"] * 50).map(&:status) }, :<, 2
  end

  def test_a_forked_process_keeps_the_rate
    server = serve
    http = client(server.url, rate: { per_second: 0.01, burst: 1 }, timeout: 1)
    http.get("/")
    reader, writer = IO.pipe
    Process.wait(fork do
      writer << result_of { http.get("/") }.class
      writer.close
      exit!(0)
    end)
    writer.close
    assert_equal "Trunkline::QueueTimeout", reader.read
    reader.close
  end

  def test_bad_settings
    { {} => "per_second: is required", { burst: 3 } => "per_second: is required", 50 => "be :server, true, or a Hash",
      :sever => ":server", { per_second: 0 } => "per_second: must be a number", { per_second: "50/s" } => "50/s",
      { per_second: 1, burst: 0 } => "burst: must be an Integer", { per_second: 1, key: 5 } => "must be a String",
      { per_seconds: 5 } => "did you mean per_second:" }.each do |settings, words|
      error = assert_raises(Trunkline::InvalidRequest) { client("https://api.test", rate: settings) }
      assert_includes error.message, words
    end
  end

  def test_the_burst_that_is_not_given_is_what_20_ms_bring
    http = client(serve.url, rate: { per_second: 500 })
    http.get("/")
    assert_equal [10], http.stats[:rates].values.map { |stats| stats[:burst] }
    assert_equal 1, Trunkline::Policy::Rate::Schedule.burst_of(3.0)
  end
end
