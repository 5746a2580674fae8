# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/numbered_responses"
require_relative "../support/call_styles"

# The option cache: stale responses, used while they are validated and instead of an error (RFC 5861).
class TestCacheStale < TrunklineTest
  include NumberedResponses
  include CallStyles

  WHILE = { "Cache-Control" => "max-age=0, stale-while-revalidate=60", "ETag" => '"1"' }.freeze
  IF_ERROR = { "Cache-Control" => "max-age=0, stale-if-error=60" }.freeze
  BUSY = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"

  def test_a_stale_response_is_served_while_it_is_revalidated
    each_call_style do |style, call|
      server = serve_numbered { |_, number| number == 1 ? WHILE : { "Cache-Control" => "max-age=60" } }
      http = cached(server)
      http.get("/")
      response = call.call(http, :get, "/")
      assert_equal ["trunkline; hit; ttl", "answer 1"], status_and_body(response), style
      assert_match(/\A\d\z/, response["age"], style)
      eventually { server.requests.size == 2 && http.get("/").body == "answer 2" }
      assert_equal '"1"', server.requests.last["If-None-Match"]
      assert_equal 2, server.requests.size, style
    end
  end

  # Another caller may begin and end a validation while this caller reads the store.
  def test_a_response_revalidated_since_it_was_read_is_not_revalidated_again
    server = serve_numbered { |_, number| number == 1 ? WHILE : { "Cache-Control" => "max-age=60" } }
    store = Class.new(Trunkline::Cache::Memory) do
      attr_accessor :meanwhile

      def read(key) = super.tap { meanwhile&.call }
    end.new
    http = cached(server, { store: store })
    http.get("/")
    store.meanwhile = lambda do
      store.meanwhile = nil
      eventually { http.get("/").body == "answer 2" }
    end
    assert_equal "answer 1", http.get("/").body
    http.async.get("/other").value # ends after any validation that was started before
    assert_equal %w[/ / /other], server.requests.map(&:target)
  end

  def test_one_revalidation_at_a_time
    gate = Queue.new
    server = serve_numbered do |_, number|
      gate.pop if number == 2
      WHILE
    end
    http = cached(server)
    http.get("/")
    10.times { assert_equal "answer 1", http.get("/").body }
    eventually { server.requests.size == 2 }
    gate << true
    eventually { http.get("/").body != "answer 1" }
  end

  def test_a_stale_range_is_served_while_the_response_is_revalidated
    server = serve_numbered { |_, number| number == 1 ? WHILE : { "Cache-Control" => "max-age=60" } }
    http = cached(server)
    http.get("/")
    assert_equal [206, "an"], http.get("/", headers: { "Range" => "bytes=0-1" }).then { |one| [one.status, one.body] }
    eventually { http.get("/").body == "answer 2" }
    assert_nil server.requests.last["Range"]
  end

  def test_a_failed_revalidation_leaves_the_stored_response
    server = serve_numbered { |_, number| number == 2 ? BUSY : WHILE }
    http = cached(server)
    http.get("/")
    http.get("/")
    eventually { server.requests.size == 2 }
    assert_equal "answer 1", http.get("/").body
    eventually { http.get("/").body == "answer 3" }
  end

  def test_a_stale_response_is_served_instead_of_an_error
    each_call_style do |style, call|
      server = serve_numbered { |_, number| [nil, IF_ERROR, BUSY][number] }
      http = cached(server)
      http.get("/")
      response = call.call(http, :get, "/")
      assert_equal ["trunkline; hit; ttl; detail=stale-if-error", "answer 1"], status_and_body(response), style
      assert_equal "answer 1", call.call(http, :get, "/").body, style # the server closes the connection
    end
  end

  def test_a_server_that_is_gone
    server = serve_numbered { IF_ERROR }
    http = cached(server)
    http.get("/")
    server.stop
    assert_equal "answer 1", http.get("/").body
    assert_raises(Trunkline::ConnectionError) { http.get("/other") }
    assert_raises(Trunkline::ConnectionError) { http.get("/", headers: { "Cache-Control" => "no-cache" }) }
  end

  def test_while_the_breaker_is_open
    server = serve_numbered { |_, number| number == 1 ? IF_ERROR : BUSY }
    http = cached(server, breaker: { minimum: 2, threshold: 0.5 })
    4.times { assert_equal "answer 1", http.get("/").body }
    assert_equal 2, server.requests.size
    assert_raises(Trunkline::BreakerOpen) { http.get("/other") }
  end

  def test_a_stale_response_is_not_served_on_error_without_permission
    [{ "Cache-Control" => "max-age=0" }, { "Cache-Control" => "max-age=0, stale-if-error=0", "Age" => "1" },
     { "Cache-Control" => "max-age=0, stale-if-error=60, must-revalidate" }].each do |fields|
      server = serve_numbered { |_, number| number == 1 ? { **fields, "ETag" => '"1"' } : BUSY }
      http = cached(server)
      http.get("/")
      assert_equal [503, "busy"], http.get("/").then { |one| [one.status, one.body] }, fields
    end
  end

  def test_options_permit_stale_responses_when_the_server_does_not
    stale = { "Cache-Control" => "max-age=0", "ETag" => '"1"' }
    server = serve_numbered { |_, number| number == 1 ? stale : BUSY }
    http = cached(server, { stale_if_error: 60 })
    http.get("/")
    assert_equal "answer 1", http.get("/").body
    http = cached(serve_numbered { stale }, { stale_while_revalidate: 60 })
    assert_equal ["answer 1"] * 2, Array.new(2) { http.get("/").body }
  end

  def test_a_closed_client_validates_nothing
    server = serve_numbered { WHILE }
    http = cached(server)
    http.get("/")
    http.get("/")
    http.close
    eventually { server.requests.size <= 2 }
  end
end
