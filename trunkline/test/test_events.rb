# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/ways_to_call"
require "logger"
require "stringio"
require "trunkline/stubs"

# Trunkline.on
class TestEvents < TrunklineTest
  include WaysToCall

  BUSY = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"

  def teardown
    @subscriptions&.each(&:off)
    super
  end

  def listen(*kinds)
    events = []
    lock = Mutex.new
    (@subscriptions ||= []) << Trunkline.on(*kinds) { |event| lock.synchronize { events << event } }
    events
  end

  def test_every_way_of_calling_is_told
    events = listen(:call, :attempt)
    each_way do |way, call|
      server = serve
      events.clear
      before = Time.now
      call.call(client(server.url), :get, "/a?b=1", template: "/:x")
      sleep 0.05 until events.size == 2
      attempt, whole = events
      assert_equal %i[attempt call], events.map(&:kind), way
      assert_equal ["GET", server.url("/a?b=1"), "/:x", 200, 1, nil],
                   whole.to_h.values_at(:method, :url, :template, :status, :attempts, :error), way
      assert_equal 1, attempt.number, way
      assert_operator whole.started_at, :>=, before, way
      assert_operator whole.duration, :>=, attempt.duration, way
      # Of a streamed answer they are those of its head; the response's own are complete at its end.
      phases = %i[queue connect write first_byte]
      assert_equal whole.response.timings.to_h.slice(*phases), whole.timings.to_h.slice(*phases), way
      assert_equal [way != :streamed, true], [!whole.timings.total.nil?, !whole.response.timings.total.nil?], way
      assert_predicate whole, :frozen?, way
    end
  end

  def test_errors
    events = listen(:call)
    each_way do |way, call|
      events.clear
      error = call.call(client("http://127.0.0.1:#{refused_port}"), :get, "/")
      sleep 0.05 while events.empty?
      event = events.first
      assert_equal [error.class, nil, 1], [event.error.class, event.status, event.attempts], way
    end
  end

  def test_retries
    events = listen
    each_way do |way, call|
      server = serve_in_turn("/" => [BUSY, answer])
      events.clear
      call.call(client(server.url, retry: { backoff: 0.01..0.01 }, max_idle: 1), :get, "/")
      sleep 0.05 until events.any? { |event| event.kind == :call }
      assert_equal %i[attempt connection retry attempt call], events.map(&:kind), way
      assert_equal [503, 200], events.select { |event| event.kind == :attempt }.map(&:status), way
      retrying = events.find { |event| event.kind == :retry }
      assert_equal [503, 1], retrying.details.values_at(:reason, :number), way
      assert_operator retrying.details[:wait], :<=, 0.01, way
    end
  end

  def test_connections
    events = listen(:connection)
    server = serve
    http = client(server.url, max_idle: 2)
    2.times { http.get("/") }
    assert_equal 1, events.size
    assert_operator events[0].duration, :>, 0
    assert_raises(Trunkline::ConnectError) { client("http://127.0.0.1:#{refused_port}").get("/") }
    assert_instance_of Trunkline::ConnectError, events[1].error
  end

  def test_a_refused_call
    events = listen(:breaker)
    http = client(serve(BUSY).url, breaker: { minimum: 1, threshold: 0.1 })
    http.get("/")
    assert_raises(Trunkline::BreakerOpen) { http.get("/") }
    assert_equal :open, events.last.details[:state]
  end

  def test_stubs_are_told
    events = listen(:call)
    Trunkline::Stubs.use do |stubs|
      stubs.get("http://api.test/x").answer(201)
      client("http://api.test").get("/x")
    end
    assert_equal [201], events.map(&:status)
  end

  # @return [String] what Trunkline.logger was told
  def logged
    log = StringIO.new
    before = Trunkline.logger
    Trunkline.configure { |config| config.logger = Logger.new(log) }
    yield
    log.string
  ensure
    Trunkline.configure { |config| config.logger = before }
  end

  def test_a_listener_that_raises_harms_nobody
    (@subscriptions = []) << Trunkline.on(:call) { raise ArgumentError, "mine" }
    later = listen(:call)
    http = client(serve.url)
    log = logged { assert_equal [200] * 4, [http.get("/"), *http.map(["/"] * 3)].map(&:status) }
    assert_equal 4, later.size
    assert_equal 1, log.scan("raised ArgumentError: mine").size
  end

  # In futures, all of which one thread drives, as well as alone.
  def test_what_is_no_standard_error_harms_nobody_either
    http = client(serve.url)
    [NotImplementedError, NoMemoryError, Exception, SystemStackError].each do |kind|
      (@subscriptions = []) << Trunkline.on { raise kind, "mine" }
      log = logged { each_way { |way, call| assert_equal 200, call.call(http, :get, "/").status, "#{kind} #{way}" } }
      assert_equal 1, log.scan("raised #{kind}: mine").size
      @subscriptions.each(&:off)
    end
  end

  def test_a_logger_that_raises_harms_nobody
    before = Trunkline.logger
    broken = Class.new { def warn(_text) = raise("broken") }.new
    Trunkline.configure { |config| config.logger = broken }
    (@subscriptions = []) << Trunkline.on(:call) { raise IndexError, "mine" }
    assert_equal 200, client(serve.url).get("/").status
  ensure
    Trunkline.configure { |config| config.logger = before }
  end

  # What is raised in a thread from outside is meant for the thread.
  def test_a_listener_is_interrupted_with_its_thread
    entered = Queue.new
    (@subscriptions = []) << Trunkline.on(:call) { sleep(entered << 1 && 10) }
    http = client(serve.url)
    [ArgumentError, Class.new(Exception)].each do |kind| # rubocop:disable Lint/InheritException -- as Timeout's own
      thread = Thread.new { http.get("/") }
      thread.report_on_exception = false
      entered.pop
      thread.raise(kind, "outside")
      assert_raises(kind) { thread.join(10) }
    end
  end

  def test_a_listener_that_calls
    seen = []
    http = client(serve.url)
    (@subscriptions = []) << Trunkline.on(:call) do |event|
      seen << event.request.target
      http.get("/inner") unless event.request.target == "/inner"
    end
    each_way { |way, call| assert_equal 200, call.call(http, :get, "/outer").status, way }
    sleep 0.05 until seen.size == 2 * WAYS.size
    assert_equal %w[/inner /outer], seen.uniq.sort
  end

  def test_off
    events = listen(:call)
    http = client(serve.url)
    @subscriptions.each(&:off)
    @subscriptions.each(&:off)
    http.get("/")
    assert_empty events
    refute_includes Trunkline::Instrument.probes, Trunkline::Events.of_process
  end

  # In a process of its own, as other tests have deadlines.
  def test_calls_look_for_listeners_while_there_is_one
    server = serve
    result = Subprocess.run(<<~RUBY)
      client = Trunkline.new(#{server.url.inspect}, timeout: 10)
      needed = -> { Trunkline::Surroundings.needed? }
      told = []
      states = [needed.call]
      one, other = Array.new(2) { |number| Trunkline.on(:call) { told << number } }
      one.off
      client.get("/")
      states << needed.call
      other.off
      states << needed.call
      Trunkline.deadline(10) { client.get("/") }
      states << needed.call
      third = Trunkline.on(:call) { told << 2 }
      third.off
      states << needed.call
      p states, told
    RUBY
    assert_equal "[false, true, false, true, true]\n[1]\n", result.out, result.err
  end

  def test_bad_input
    assert_match(/on: must be :call, :attempt, .* got :calls/,
                 assert_raises(Trunkline::InvalidRequest) { Trunkline.on(:calls) { 1 } }.message)
    assert_raises(Trunkline::InvalidRequest) { Trunkline.on(:call) }
  end

  def test_what_is_shown_has_no_query
    events = listen(:call)
    client(serve.url).get("/", params: { token: "secret" })
    refute_includes events.first.inspect, "secret"
  end
end
