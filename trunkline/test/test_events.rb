# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/call_styles"
require "logger"
require "stringio"
require "trunkline/stubs"

# Trunkline.on
class TestEvents < TrunklineTest
  include CallStyles

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

  def test_every_call_style_emits_events
    events = listen(:call, :attempt)
    each_call_style do |style, call|
      server = serve
      events.clear
      before = Time.now
      call.call(client(server.url), :get, "/a?b=1", template: "/:x")
      sleep 0.05 until events.size == 2
      attempt, whole = events
      assert_equal %i[attempt call], events.map(&:kind), style
      assert_equal ["GET", server.url("/a?b=1"), "/:x", 200, 1, nil],
                   whole.to_h.values_at(:method, :url, :template, :status, :attempts, :error), style
      assert_equal 1, attempt.number, style
      assert_operator whole.started_at, :>=, before, style
      assert_operator whole.duration, :>=, attempt.duration, style
      # For a streamed response the event has the timings up to the head; the response's own timings are complete at its
      # end.
      phases = %i[queue connect write first_byte]
      assert_equal whole.response.timings.to_h.slice(*phases), whole.timings.to_h.slice(*phases), style
      assert_equal [style != :streamed, true], [!whole.timings.total.nil?, !whole.response.timings.total.nil?], style
      assert_predicate whole, :frozen?, style
    end
  end

  def test_errors
    events = listen(:call)
    each_call_style do |style, call|
      events.clear
      error = call.call(client("http://127.0.0.1:#{refused_port}"), :get, "/")
      sleep 0.05 while events.empty?
      event = events.first
      assert_equal [error.class, nil, 1], [event.error.class, event.status, event.attempts], style
    end
  end

  def test_retries
    events = listen
    each_call_style do |style, call|
      server = serve_sequence("/" => [BUSY, response_bytes])
      events.clear
      call.call(client(server.url, retry: { backoff: 0.01..0.01 }, max_idle: 1), :get, "/")
      sleep 0.05 until events.any? { |event| event.kind == :call }
      assert_equal %i[attempt connection retry attempt call], events.map(&:kind), style
      assert_equal [503, 200], events.select { |event| event.kind == :attempt }.map(&:status), style
      retrying = events.find { |event| event.kind == :retry }
      assert_equal [503, 1], retrying.details.values_at(:reason, :number), style
      assert_operator retrying.details[:wait], :<=, 0.01, style
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

  def test_stubbed_calls_emit_events
    events = listen(:call)
    Trunkline::Stubs.use do |stubs|
      stubs.get("http://api.test/x").answer(201)
      client("http://api.test").get("/x")
    end
    assert_equal [201], events.map(&:status)
  end

  # @return [String] the text that Trunkline.logger received
  def logged
    log = StringIO.new
    before = Trunkline.logger
    Trunkline.configure { |config| config.logger = Logger.new(log) }
    yield
    log.string
  ensure
    Trunkline.configure { |config| config.logger = before }
  end

  def test_a_listener_that_raises_does_not_affect_calls
    (@subscriptions = []) << Trunkline.on(:call) { raise ArgumentError, "mine" }
    later = listen(:call)
    http = client(serve.url)
    log = logged { assert_equal [200] * 4, [http.get("/"), *http.map(["/"] * 3)].map(&:status) }
    assert_equal 4, later.size
    assert_equal 1, log.scan("raised ArgumentError: mine").size
  end

  # Also in futures, all of which one thread runs.
  def test_a_listener_that_raises_no_standard_error_does_not_affect_calls
    http = client(serve.url)
    [NotImplementedError, NoMemoryError, Exception, SystemStackError].each do |kind|
      (@subscriptions = []) << Trunkline.on { raise kind, "mine" }
      log = logged do
        each_call_style { |style, call| assert_equal 200, call.call(http, :get, "/").status, "#{kind} #{style}" }
      end
      assert_equal 1, log.scan("raised #{kind}: mine").size
      @subscriptions.each(&:off)
    end
  end

  def test_a_logger_that_raises_does_not_affect_calls
    before = Trunkline.logger
    broken = Class.new { def warn(_text) = raise("broken") }.new
    Trunkline.configure { |config| config.logger = broken }
    (@subscriptions = []) << Trunkline.on(:call) { raise IndexError, "mine" }
    assert_equal 200, client(serve.url).get("/").status
  ensure
    Trunkline.configure { |config| config.logger = before }
  end

  # An exception that another thread raises in the listener's thread is meant for that thread.
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
    each_call_style { |style, call| assert_equal 200, call.call(http, :get, "/outer").status, style }
    sleep 0.05 until seen.size == 2 * CALL_STYLES.size
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

  # Runs in a separate process, because other tests set deadlines.
  def test_caller_context_is_needed_while_there_is_a_listener
    server = serve
    result = Subprocess.run(<<~RUBY)
      client = Trunkline.new(#{server.url.inspect}, timeout: 10)
      needed = -> { Trunkline::CallerContext.needed? }
      seen = []
      states = [needed.call]
      one, other = Array.new(2) { |number| Trunkline.on(:call) { seen << number } }
      one.off
      client.get("/")
      states << needed.call
      other.off
      states << needed.call
      Trunkline.deadline(10) { client.get("/") }
      states << needed.call
      third = Trunkline.on(:call) { seen << 2 }
      third.off
      states << needed.call
      p states, seen
    RUBY
    assert_equal "[false, true, false, true, true]\n[1]\n", result.out, result.err
  end

  def test_bad_input
    assert_match(/on: must be :call, :attempt, .* got :calls/,
                 assert_raises(Trunkline::InvalidRequest) { Trunkline.on(:calls) { 1 } }.message)
    assert_raises(Trunkline::InvalidRequest) { Trunkline.on(:call) }
  end

  def test_inspect_of_an_event_hides_the_query
    events = listen(:call)
    client(serve.url).get("/", params: { token: "secret" })
    refute_includes events.first.inspect, "secret"
  end
end
