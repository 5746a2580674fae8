# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_styles"

# The budget of retries limits the requests to a server that fails all of them.
class TestRetryBudget < TrunklineTest
  include CallStyles

  BUSY = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
  CALLS = 1000

  def test_a_batch_does_not_storm
    server = serve_sequence("/" => [BUSY])
    results = client(server.url, retry: { backoff: 0.001..0.01 }).map(["/"] * CALLS, concurrency: 20)
    assert_equal [503], results.map(&:status).uniq
    assert_operator server.requests.size, :<=, CALLS * 1.2
    assert_operator server.requests.size, :>, CALLS * 1.05
  end

  def test_threads_share_it
    server = serve_sequence("/" => [BUSY])
    http = client(server.url, retry: { backoff: 0.001..0.01 })
    Array.new(10) { Thread.new { (CALLS / 10).times { http.get("/") } } }.each(&:join)
    assert_operator server.requests.size, :<=, CALLS * 1.2
    assert_operator server.requests.size, :>, CALLS
  end

  def test_posts_never_arrive_twice
    server = serve_sequence("/" => [nil])
    results = client(server.url, retry: true).map(Array.new(300) do |id|
      [:post, "/", { body: id.to_s }]
    end, concurrency: 20)
    assert_equal [Trunkline::ConnectionClosed], results.map(&:class).uniq
    assert_equal((0...300).map(&:to_s).sort, server.requests.map(&:body).sort)
  end

  def test_stats
    server = serve_sequence("/" => [BUSY])
    http = client(server.url, retry: { backoff: 0.001..0.01 })
    http.get("/")
    budget = http.stats[:budgets][server.address]
    assert_equal [2, 0], [budget[:taken], budget[:refused]]
  end

  def test_false_is_no_budget
    server = serve_sequence("/" => [BUSY])
    client(server.url, retry: { backoff: 0.0..0.0, budget: false }).map(["/"] * 50)
    assert_equal 150, server.requests.size
  end
end
