# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "../../support/call_styles"
require "trunkline/faraday"

# Policies as options of the Faraday adapter.
class TestFaradayPolicies < TrunklineTest
  include CallStyles

  BUSY = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
  RETRY = { backoff: 0.001..0.002, budget: false }.freeze

  def faraday(url, **options)
    opened(Faraday.new(url, request: { timeout: 5 }) { |builder| builder.adapter(:trunkline, **options) })
  end

  def test_retries
    server = serve_sequence("/" => [BUSY, response_bytes("fine")], "/post" => [BUSY])
    http = faraday(server.url, retry: RETRY)
    assert_equal [200, "fine"], http.get("/").then { |one| [one.status, one.body] }
    assert_equal [503, 3], [http.post("/post", "x").status, server.requests.size]
  end

  def test_a_cache
    server = serve_sequence("/" => [response_bytes("kept", "Cache-Control" => "max-age=60", "ETag" => '"1"')])
    http = faraday(server.url, cache: true)
    found = Array.new(2) { http.get("/") }
    http.in_parallel { found << http.get("/") }
    http.get("/") { |request| request.options.on_data = ->(chunk, *) { found << chunk } }
    assert_equal ["kept"] * 4, found.map { |one| one.respond_to?(:body) ? one.body : one }
    assert_equal [nil, "0", "0"], found.first(3).map { |one| one.headers["age"] }
    assert_equal 1, server.requests.size
    assert_equal 304, http.get("/", nil, "If-None-Match" => '"1"').status
    http.post("/")
    http.get("/")
    assert_equal 3, server.requests.size
  end

  def test_retries_in_parallel_and_streamed
    server = serve_sequence(%w[a b c].to_h { |name| ["/#{name}", [BUSY, response_bytes(name)]] })
    http = faraday(server.url, retry: RETRY)
    responses = []
    chunks = []
    http.in_parallel do
      responses << http.get("/a") << http.get("/b")
      responses << http.get("/c") { |request| request.options.on_data = ->(chunk, *) { chunks << chunk } }
    end
    assert_equal [200, 200, 200], responses.map(&:status)
    assert_equal ["a", "b", "", "c"], [*responses.map(&:body), chunks.join]
    http.get("/a") { |request| request.options.on_data = ->(chunk, *) { chunks << chunk } }
    assert_equal "ca", chunks.join
  end

  def test_a_deadline
    server = serve { |connection| connection.read_request && sleep(1) }
    error = assert_raises(Faraday::TimeoutError) { Trunkline.deadline(0.2) { faraday(server.url).get("/") } }
    assert_instance_of Trunkline::DeadlineExceeded, error.wrapped_exception
  end

  def test_middleware_and_coalescing
    on_their_way = Queue.new
    tag = lambda do |request, forward|
      on_their_way << true
      forward.call(request.with(headers: { "X-Tag" => "1" }))
    end
    callers = []
    waiting = -> { on_their_way.size == 3 && callers.size == 3 && callers.all?(&:stop?) }
    server = serve do |connection|
      connection << response_bytes while connection.read_request && eventually(&waiting) && sleep(0.2)
    end
    http = faraday(server.url, use: tag, coalesce: true)
    http.app # built here, since otherwise each thread that finds none would build one
    3.times { callers << Thread.new { http.get("/").status } }
    assert_equal [200] * 3, callers.map(&:value)
    assert_equal ["1"], server.requests.map { |request| request["X-Tag"] }
  end
end
