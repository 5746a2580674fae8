# frozen_string_literal: true

require_relative "test_helper"

# Streamed responses that the caller does not read to the end: their connections and buffers become free again.
class TestDroppedResponses < TrunklineTest
  LARGE = "x" * 200_000

  def test_a_response_refused_by_raise_for_status_is_read_and_its_connection_reused
    server = serve(response_bytes("no such thing", status: "404 Not Found"))
    http = client(server.url, max_connections_per_host: 1, max_idle: 4)
    errors = Array.new(5) { assert_raises(Trunkline::ClientError) { http.get("/", stream: true).raise_for_status! } }
    assert_equal ["no such thing"] * 5, errors.map { |error| error.response.body }
    assert_equal 1, server.connection_count
    assert_equal 1, http.stats[:idle]
  end

  def test_the_body_of_a_refused_response_can_be_read
    http = client(serve(response_bytes("no such thing", status: "404 Not Found")).url)
    response = http.get("/", stream: true)
    assert_raises(Trunkline::ClientError) { response.raise_for_status! }
    assert_predicate response, :complete?
    assert_equal "no such thing", response.read
    assert_nil response.read
  end

  def test_a_large_refused_response_is_closed
    server = serve(response_bytes(LARGE, status: "500 Oh"))
    http = client(server.url, max_connections_per_host: 1, max_idle: 4)
    5.times { assert_raises(Trunkline::ServerError) { http.get("/", stream: true).raise_for_status! } }
    assert_equal 5, server.connection_count
    assert_equal 0, http.stats[:connections]
    error = assert_raises(Trunkline::ServerError) { http.get("/", stream: true).raise_for_status! }
    refute_predicate error.response, :complete?
    assert_equal LARGE[0, 65_536], error.response.body
    assert_raises(Trunkline::Error) { error.response.read }
  end

  def test_a_slow_refused_response_is_closed
    server = serve(script: [[:read, "HTTP/1.1 503 Oh\r\nContent-Length: 10\r\n\r\nhalf", :stall]])
    http = client(server.url, max_connections_per_host: 1, max_idle: 4, timeout: 20)
    seconds, = raised_after(Trunkline::ServerError) { http.get("/", stream: true).raise_for_status! }
    assert_took_less 2, seconds
    assert_equal 0, http.stats[:connections]
  end

  def test_a_refused_response_that_breaks_off
    server = serve(script: [[:read, "HTTP/1.1 503 Oh\r\nContent-Length: 10\r\n\r\nhalf", :close]])
    error = assert_raises(Trunkline::ServerError) { client(server.url).get("/", stream: true).raise_for_status! }
    assert_raises(Trunkline::TruncatedBody) { error.response.body }
  end

  def test_a_response_that_is_not_refused_is_not_read
    response = client(serve(response_bytes(LARGE)).url).get("/", stream: true)
    assert_same response, response.raise_for_status!
    refute_predicate response, :complete?
    assert_equal LARGE, response.body
  end

  CALL_STYLES = {
    get: ->(http) { http.get("/").body },
    stream: ->(http) { http.get("/", stream: true).body },
    map: ->(http) { http.map(["/"]).first.body },
    future: ->(http) { http.async.get("/").value.body }
  }.freeze

  CALL_STYLES.each do |way, call|
    define_method(:"test_#{way}_reuses_the_slots_of_dropped_responses") do
      http = client(serve(response_bytes(LARGE)).url, max_connections_per_host: 3, max_idle: 4, timeout: 10)
      Memory.without_collector do
        drop(http, 3)
        seconds, body = timed { call.call(http) }
        assert_equal LARGE, body
        assert_took_less 2, seconds
      end
    end
  end

  def test_a_waiting_call_starts_one_garbage_collection
    http = client(serve(response_bytes(LARGE)).url, max_connections_per_host: 1, max_idle: 4,
                                                    timeout: { queue: 1.2, total: 5 })
    held = http.get("/", stream: true)
    Memory.without_collector do
      before = Memory.full_collections
      seconds, = raised_after(Trunkline::QueueTimeout) { http.get("/") }
      assert_took 1.2, seconds, 0.2
      assert_equal before + 1, Memory.full_collections
    end
    held.close
  end

  def test_a_waiting_call_starts_no_garbage_collection_without_unread_responses
    forget_responses_of_other_tests if RUBY_ENGINE == "jruby"
    gate = Queue.new
    server = serve { |connection| connection << response_bytes while connection.read_request && gate.pop }
    http = client(server.url, max_connections_per_host: 1, max_idle: 4)
    Memory.without_collector do
      before = Memory.collections
      first = Thread.new { http.get("/").status }
      server.wait_for_requests(1)
      second = Thread.new { http.get("/").status }
      sleep 0.5
      assert_equal before, Memory.collections
      2.times { gate << true }
      assert_equal [200, 200], [first, second].map(&:value)
    end
  end

  PROGRAM = <<~RUBY
    HTTP = Trunkline.new(ENV.fetch("URL"), timeout: 10, max_connections_per_host: 1, max_idle: 4)

    def drop
      HTTP.get("/", stream: true).status # dropped here
    end
    Thread.new { drop }.join
    p HTTP.get("/").status
    HTTP.get("/", stream: true).body
    HTTP.get("/", stream: true).close
    HTTP.get("/") { |chunk| break }
    GC.start
    p HTTP.get("/").status
  RUBY

  def test_a_warning_names_the_line_that_requested_a_dropped_response
    result = Subprocess.run(PROGRAM, { "URL" => serve(response_bytes(LARGE)).url })
    assert_equal "200\n200\n", result.out
    assert_equal 1, result.err.lines.size, result.err
    line = (Subprocess::PRELUDE + PROGRAM).lines.index { |text| text.include?("dropped here") } + 1
    assert_match(/\A-e:#{line}: an answer with stream: true was dropped before its end/, result.err)
  end

  def test_there_is_no_warning_unless_the_program_is_verbose
    result = Subprocess.run("$VERBOSE = false\n#{PROGRAM}", { "URL" => serve(response_bytes(LARGE)).url })
    assert_equal ["200\n200\n", ""], [result.out, result.err]
  end

  # JRuby runs these threads in parallel.
  def test_threads_that_use_many_at_once_leave_none_behind
    skip "only the engine in Ruby has such a table" unless Trunkline::ENGINE == :ruby

    dropped = Trunkline::Engine::Ruby::Dropped
    forget_responses_of_other_tests
    held = dropped.instance_variable_get(:@held_by_caller)
    pairs = Array.new(4) { Array.new(10_000) { [Object.new, Object.new] } }
    pairs.map { |part| Thread.new { part.each { |state, exchange| dropped.watch(state, exchange) } } }.each(&:join)
    assert_equal 40_000, held.size
    pairs.map { |part| Thread.new { part.each { |state, exchange| dropped.unwatch(state, exchange) } } }.each(&:join)
    refute_predicate dropped, :any_held_by_caller?
  end

  private

  # Simulates a program in which no garbage collection runs for minutes.
  # JRuby reports collected objects with a delay.
  def forget_responses_of_other_tests
    eventually("another test's response is still held") do
      Memory.collect
      !Trunkline::Engine::Ruby::Dropped.any_held_by_caller?
    end
  end

  # Uses a separate thread for each response: the collector may treat an object on a live stack as reachable.
  def drop(http, count)
    count.times { Thread.new { http.get("/", stream: true) && nil }.join }
    assert_equal count, http.stats[:in_use]
  end
end
