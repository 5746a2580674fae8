# frozen_string_literal: true

require_relative "support"
require_relative "../../support/call_styles"

# Policies set by Typhoeus::Config.policies.
class TestTyphoeusPolicies < TyphoeusTest
  include CallStyles

  BUSY = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
  RETRY = { backoff: 0.001..0.002, budget: false }.freeze

  def test_only_retries
    server = serve_sequence("/" => [BUSY, nil, response_bytes("fine")], "/post" => [BUSY])
    Typhoeus::Config.policies = { retry: RETRY }
    assert_equal [200, "fine"], request(server.url("/")).run.then { |one| [one.code, one.body] }
    assert_equal [503, 4], [request(server.url("/post"), method: :post, body: "x").run.code, server.requests.size]
    Typhoeus::Config.policies = nil
    assert_equal 503, request(server.url("/post"), method: :put, body: "x").run.code
    assert_equal 5, server.requests.size
  end

  def test_a_cache
    server = serve_sequence("/" => [response_bytes("kept", "Cache-Control" => "max-age=60")])
    Typhoeus::Config.policies = { cache: true }
    2.times { assert_equal "kept", request(server.url("/")).run.body }
    many = hydra
    requests = Array.new(2) { request(server.url("/")) }.each { |one| many.queue(one) }
    many.run
    assert_equal [%w[kept kept], 1], [requests.map { |one| one.response.body }, server.requests.size]
  end

  def test_retries_in_a_hydra
    server = serve_sequence("/a" => [BUSY, response_bytes("a")], "/b" => [redirect("/a")],
                            "/c" => [BUSY, BUSY, response_bytes("c")])
    Typhoeus::Config.policies = { retry: RETRY }
    requests = %w[/a /b /c].map { |path| request(server.url(path), followlocation: true) }
    many = hydra
    requests.each { |one| many.queue(one) }
    many.run
    assert_equal [[200, "a"], [200, "a"], [200, "c"]], requests.map { |one| [one.response.code, one.response.body] }
  end

  def test_a_breaker_that_is_open_is_a_connection_that_is_not_made
    server = serve_sequence("/" => [BUSY])
    Typhoeus::Config.policies = { breaker: { minimum: 1 } }
    assert_equal %i[ok couldnt_connect], Array.new(2) { request(server.url).run.return_code }
    assert_equal 1, server.requests.size
  end

  def test_a_deadline
    server = serve { |connection| connection.read_request && sleep(1) }
    assert_equal :operation_timedout, Trunkline.deadline(0.2) { request(server.url).run.return_code }
  end

  def test_other_options_are_refused
    error = assert_raises(Trunkline::InvalidRequest) { Typhoeus::Config.policies = { timeout: 3 } }
    assert_match(/one of policies, .*retry, .* Typhoeus's own, got :timeout/, error.message)
  end
end
