# frozen_string_literal: true

require_relative "../test_helper"

# The option raise: true, for a single call and for many.
class TestRaise < TrunklineTest
  MISSING = "no such thing"

  def test_a_call_with_raise_raises_on_an_error_status
    server = serve(response_bytes(MISSING, status: "404 Not Found"))
    assert_equal 404, client(server.url).get("/").status
    error = assert_raises(Trunkline::ClientError) { client(server.url).get("/", raise: true) }
    assert_equal [404, MISSING], [error.response.status, error.response.body]
    assert_match(/was answered 404 Not Found/, error.message)
    assert_equal 404, client(server.url, raise: true).get("/", raise: false).status
  end

  def test_statuses
    { 200 => nil, 304 => nil, 400 => Trunkline::ClientError, 599 => Trunkline::ServerError }.each do |status, error|
      http = client(serve("HTTP/1.1 #{status} X\r\nContent-Length: 0\r\n\r\n").url, raise: true)
      error ? assert_raises(error) { http.get("/") } : assert_equal(status, http.get("/").status)
    end
  end

  def test_a_block_never_gets_an_error_page
    server = serve(response_bytes(MISSING, status: "404 Not Found"))
    http = client(server.url, max_connections_per_host: 1, max_idle: 2, raise: true)
    2.times do
      error = assert_raises(Trunkline::ClientError) { http.get("/") { flunk } }
      assert_equal MISSING, error.response.body
      assert_predicate error.response, :complete?
    end
    assert_equal 1, server.connection_count
    assert_raises(Trunkline::ClientError) { http.get("/", stream: true) }
    assert_equal 0, http.stats[:in_use]
  end

  def test_the_error_has_the_beginning_of_a_large_error_page
    http = client(serve(response_bytes("x" * 200_000, status: "500 Oh")).url, max_idle: 2, raise: true)
    error = assert_raises(Trunkline::ServerError) { http.get("/") { flunk } }
    assert_equal "x" * 65_536, error.response.body
    refute_predicate error.response, :complete?
    assert_equal 0, http.stats[:connections]
  end

  def test_a_successful_response_is_streamed_to_the_block
    chunks = []
    response = client(serve(response_bytes("fine")).url).get("/", raise: true) { |chunk| chunks << chunk }
    assert_equal ["fine", 200], [chunks.join, response.status]
  end

  def test_the_last_response_of_redirects_counts
    server = serve do |connection|
      while (request = connection.read_request)
        connection << (request.target == "/" ? redirect("/gone") : response_bytes("", status: "410 Gone"))
      end
    end
    http = client(server.url, raise: true)
    assert_equal 302, http.get("/").status
    error = assert_raises(Trunkline::ClientError) { http.get("/", follow: 2) }
    assert_equal [410, 1], [error.response.status, error.response.redirects.size]
    results = http.map(["/", "/gone"], concurrency: 2).zip(http.with(follow: 2).map(["/", "/gone"]))
    assert_equal [[302, 410], [410, 410]], results.map { |pair| pair.map { |result| status(result) } }
    assert_kind_of Trunkline::ClientError, results.dig(0, 1)
  end

  def test_an_answered_challenge_does_not_raise
    challenge = response_bytes("", "WWW-Authenticate" => 'Digest realm="a", nonce="b", qop="auth"', status: "401 Who")
    server = serve do |connection|
      while (request = connection.read_request)
        connection << (request["Authorization"] ? response_bytes("fine") : challenge)
      end
    end
    http = client(server.url, raise: true, digest: %w[user secret])
    assert_equal "fine", http.get("/").body
    assert_equal ["fine"], http.map(["/"]).map(&:body)
  end

  def test_among_many_the_error_is_the_result
    server = serve(response_bytes(MISSING, status: "404 Not Found"))
    http = client(server.url, raise: true)
    each = []
    http.each(["/"]) { |_, result| each << result }
    results = http.map(["/"]) + each + http.batch { |batch| batch.get("/") } +
              client(server.url).map([{ url: "/", raise: true }])
    assert_equal [Trunkline::ClientError] * 4, results.map(&:class)
    assert_equal [MISSING] * 4, results.map { |error| error.response.body }
    assert_raises(Trunkline::ClientError) { http.async.get("/").value! }
    assert_raises(Trunkline::ClientError) { client(server.url).async.get("/", raise: true).value! }
  end

  def test_a_value_that_is_no_boolean
    assert_raises(Trunkline::InvalidRequest) { client("http://a.test", raise: 404) }
  end

  private

  def status(result) = (result.is_a?(Trunkline::Error) ? result.response : result).status
end
