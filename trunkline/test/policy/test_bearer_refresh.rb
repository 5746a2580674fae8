# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fibers"

# The option auth: with Trunkline::BearerRefresh against a server that accepts only one token.
class TestBearerRefresh < TrunklineTest
  REFUSED = "401 Unauthorized"

  # Accepts the token of #good, and echoes the body or the target. Refusals wait until `together` requests have arrived,
  # so that all their calls are refused at once.
  def guarded(together: 1)
    arrived = 0
    lock = Mutex.new
    opened_gate = ConditionVariable.new
    serve do |connection|
      while (request = connection.read_request)
        lock.synchronize do
          arrived += 1
          opened_gate.broadcast if arrived >= together
          opened_gate.wait(lock, 5) while arrived < together
        end
        connection << verdict(request)
      end
    end
  end

  def verdict(request)
    return response_bytes("no", status: REFUSED) unless request["Authorization"] == "Bearer #{good}"

    response_bytes(request.body.empty? ? request.target : request.body)
  end

  attr_accessor :good

  def setup
    @good = "new"
    @fetches = Thread::Queue.new
  end

  # A BearerRefresh that fetches "new", slowly enough that other calls arrive meanwhile.
  def tokens(first = "old", &fetch)
    Trunkline::BearerRefresh.new(first) do |expired|
      @fetches << expired
      fetch ? fetch.call(expired) : sleep(0.05) && "new"
    end
  end

  def fetched = Array.new(@fetches.size) { @fetches.pop }

  def sent(server) = server.requests.map { |request| request["Authorization"] }

  # The first token is from a store and has expired there: it is used by one call, and by many at once.
  def test_a_first_token_that_is_refused
    kept = ->(expired) { expired ? "new" : "old" }
    server = guarded
    assert_equal "/a", client(server.url, auth: tokens(nil, &kept)).get("/a").body
    assert_equal ["Bearer old", "Bearer new"], sent(server)
    assert_equal [nil, "old"], fetched
    http = client(guarded(together: 20).url, auth: tokens(nil, &kept))
    assert_equal Array.new(20) { |i| "/#{i}" }, http.map(Array.new(20) { |i| "/#{i}" }, concurrency: 20).map(&:body)
    assert_equal [nil, "old"], fetched
  end

  def test_a_refused_token_is_fetched_anew
    server = guarded
    http = client(server.url, auth: tokens)
    response = http.get("/a")
    assert_equal ["/a", [401]], [response.body, response.challenges.map(&:status)]
    assert_equal 200, http.get("/b").status
    assert_equal ["Bearer old", "Bearer new", "Bearer new"], sent(server)
    assert_equal %w[old], fetched
  end

  def test_the_first_token_is_fetched_when_it_is_needed
    server = guarded
    http = client(server.url, auth: tokens(nil))
    2.times { assert_equal 200, http.get("/").status }
    assert_equal ["Bearer new"] * 2, sent(server)
    assert_equal [nil], fetched
  end

  def test_a_body_is_sent_again
    server = guarded
    assert_equal "text", client(server.url, auth: tokens).post("/", body: StringIO.new("text")).body
    assert_equal '{"a":1}', client(server.url, auth: tokens).post("/", json: { a: 1 }).body
    pieces = %w[a b]
    http = client(server.url, auth: tokens)
    assert_raises(Trunkline::AuthError) { http.post("/", body: -> { pieces.shift }) }
  end

  Refused = Struct.new(:fields) do
    def request = self
    def headers = fields.call
  end
  Waiting = Struct.new(:began) do
    def wait(signal) = signal.wait
  end

  # The fetch happens between two steps of another call that was refused as well.
  def test_a_token_fetched_by_another_call_is_used
    old = { "Authorization" => "Bearer old" }
    refresh = Trunkline::BearerRefresh.new("old") { "new" }
    call = Waiting.new(Trunkline::Engine.now)
    meanwhile = -> { refresh.retry?(Refused.new(-> { old }), call) && old }
    assert refresh.retry?(Refused.new(meanwhile), call)
    assert_equal({ "Authorization" => "Bearer new" }, refresh.sign(nil, call))
  end

  CALL_STYLES = {
    threads: ->(http, paths) { paths.map { |path| Thread.new { http.get(path) } }.map(&:value) },
    batch: ->(http, paths) { http.batch(concurrency: 100) { |batch| paths.each { |path| batch.get(path) } } },
    map: ->(http, paths) { http.map(paths, concurrency: 100) },
    futures: ->(http, paths) { paths.map { |path| http.async.get(path) }.map(&:value!) },
    fibers: lambda do |http, paths|
      Async { paths.map { |path| Async { http.get(path) } }.map(&:wait) }.wait
    end
  }.freeze

  CALL_STYLES.each do |way, run|
    define_method(:"test_100_calls_at_once_make_one_fetch_in_#{way}") do
      together = way == :futures ? 4 : 100 # futures start with fewer in flight
      server = guarded(together: together)
      http = client(server.url, auth: tokens, max_connections_per_host: 100, timeout: 20)
      paths = (1..100).map { |number| "/#{number}" }
      assert_equal paths, run.call(http, paths).map(&:body)
      assert_equal %w[old], fetched
      counts = sent(server).tally
      assert_operator counts["Bearer old"], :>=, together
      assert_equal 100, counts["Bearer new"]
    end
  end

  def test_bodies_of_100_calls_at_once
    server = guarded(together: 100)
    http = client(server.url, auth: tokens, retry: true, cookies: true, max_connections_per_host: 100, timeout: 20)
    bodies = (1..100).map { |number| "body #{number}" }
    results = http.batch(concurrency: 100) do |batch|
      bodies.each { |body| batch.post("/", body: StringIO.new(body)) }
    end
    assert_equal bodies, results.map(&:body)
    assert_equal %w[old], fetched
    assert_equal bodies.flat_map { |body| [body] * 2 }.sort, server.requests.map(&:body).sort
  end

  def test_other_requests_of_a_batch_go_on_during_a_refresh
    server = guarded
    other = serve
    fetching = Thread::Queue.new
    http = client(auth: tokens { fetching.pop })
    order = []
    http.batch do |batch|
      batch.get(server.url("/slow")) { |result| order << result.body }
      batch.get(other.url) do |result|
        order << result.body
        fetching << "new"
      end
    end
    assert_equal %w[ok /slow], order
  end

  def test_a_token_that_is_refused_again_is_the_callers_to_see
    server = guarded
    self.good = "another"
    http = client(server.url, auth: tokens)
    response = http.get("/")
    assert_equal [401, 1], [response.status, response.challenges.size]
    assert_equal %w[old], fetched
    self.good = "new"
    assert_equal 200, http.get("/").status
    assert_empty fetched
  end

  def test_the_same_token_is_not_sent_again
    server = guarded
    http = client(server.url, auth: tokens { "old" })
    assert_equal 401, http.get("/").status
    assert_attempts 1, server
    none = client(server.url, auth: tokens(nil) { nil })
    assert_equal [401, 401], [none.get("/").status, client(server.url, auth: tokens { nil }).get("/").status]
    assert_equal ["Bearer old", nil, "Bearer old"], sent(server)
  end

  def test_an_exception_of_the_block_is_raised_in_each_waiting_call
    server = guarded(together: 5)
    http = client(server.url, auth: tokens { sleep(0.2) && raise(KeyError, "no login") })
    errors = Array.new(5) { Thread.new { assert_raises(KeyError) { http.get("/") } } }.map(&:value)
    assert_equal ["no login"], errors.map(&:message).uniq
    assert_equal 5, errors.uniq(&:object_id).size
    assert_equal %w[old], fetched
    results = http.batch { |batch| 3.times { batch.get("/") } }
    assert_equal [KeyError], results.map(&:class).uniq
    assert_raises(Trunkline::InvalidRequest) { client(server.url, auth: tokens { 7 }).get("/") }
    error = assert_raises(Trunkline::InvalidRequest) { client(server.url, auth: tokens { "sec ret" }).get("/") }
    refute_includes error.message, "ret"
  end

  def test_a_streamed_refusal_is_closed_when_the_block_raises
    server = guarded
    http = client(server.url, auth: tokens { raise KeyError, "no login" }, max_idle: 2)
    assert_raises(KeyError) { http.get("/", stream: true) }
    assert_equal 0, http.stats[:in_use]
  end

  def test_streaming
    server = guarded
    http = client(server.url, auth: tokens)
    chunks = []
    http.get("/a") { |chunk| chunks << chunk }
    assert_equal ["/a"], chunks
    assert_equal "no", client(server.url, auth: tokens { nil }).get("/b", stream: true).read
  end

  def test_a_call_waits_no_longer_than_its_timeout
    server = guarded
    gate = Thread::Queue.new
    fetch = tokens { gate.pop }
    http = client(server.url, auth: fetch)
    error = assert_raises(Trunkline::TotalTimeout) { http.get("/", timeout: 0.2) }
    assert_in_delta 0.2, error.elapsed, 0.15
    gate << "new"
    assert_equal 200, http.get("/").status # the fetch continued
    assert_equal %w[old], fetched
  end

  def test_the_block_may_use_the_same_client
    server = guarded
    http = nil
    http = client(server.url, auth: tokens { http.get("/token") && "new" })
    assert_equal 200, http.get("/").status
    assert_equal ["Bearer old", nil, "Bearer new"], sent(server)
  end

  def test_the_token_is_sent_only_to_its_origin
    other = serve
    server = serve { |connection| connection << redirect(other.url("/there")) while connection.read_request }
    client(server.url, auth: tokens, follow: true).get("/")
    assert_equal [["Bearer old"], [nil]], [sent(server), sent(other)]
  end

  def test_after_fork
    server = guarded
    gate = Thread::Queue.new
    fetch = tokens { gate.empty? ? gate.pop : "new" }
    http = client(server.url, auth: fetch)
    waiting = Thread.new { http.get("/") }
    Thread.pass until gate.num_waiting == 1
    child = fork do
      gate << nil
      exit!(http.get("/").status == 200 ? 0 : 1)
    end
    assert_equal 0, Process.wait2(child).last.exitstatus
    gate << "new"
    assert_equal 200, waiting.value.status
  end

  def test_invalid_arguments_are_refused
    assert_raises(Trunkline::InvalidRequest) { Trunkline::BearerRefresh.new }
    error = assert_raises(Trunkline::InvalidRequest) { Trunkline::BearerRefresh.new("two words") { nil } }
    refute_includes error.message, "two"
    assert_equal "#<Trunkline::BearerRefresh>", tokens("secret").inspect
  end
end
