# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "../../support/call_styles"
require "net/http"
require "trunkline/net_http"

# Policies of Net::HTTP after install!.
class TestNetHTTPPolicies < TrunklineTest
  include CallStyles

  BUSY = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
  RETRY = { backoff: 0.001..0.002, budget: false }.freeze

  def install(**policies)
    Trunkline::NetHTTP.install!(**policies)
    yield
  ensure
    Trunkline::NetHTTP.install!
    Trunkline::NetHTTP.uninstall!
  end

  def test_retries
    server = serve_sequence("/" => [BUSY, nil, response_bytes("fine")], "/post" => [BUSY])
    install(retry: RETRY) do
      assert_equal "fine", Net::HTTP.get(URI(server.url("/")))
      assert_equal "503", Net::HTTP.post(URI(server.url("/post")), "x").code
      assert_equal 4, server.requests.size
    end
  end

  def test_a_cache
    server = serve_sequence("/" => [response_bytes("kept", "Cache-Control" => "max-age=60")])
    install(cache: true) do
      2.times { assert_equal "kept", Net::HTTP.get(URI(server.url("/"))) }
      Net::HTTP.start("127.0.0.1", server.port) do |http|
        http.request(Net::HTTP::Get.new("/")) { |response| assert_equal "kept", response.read_body(+"") }
      end
      assert_equal 1, server.requests.size
    end
  end

  def test_only_the_last_response_of_a_retry_is_streamed
    server = serve_sequence("/" => [BUSY, response_bytes("fine")])
    install(retry: RETRY) do
      chunks = []
      Net::HTTP.start("127.0.0.1", server.port) do |http|
        http.request(Net::HTTP::Get.new("/")) { |response| response.read_body { |chunk| chunks << chunk } }
      end
      assert_equal "fine", chunks.join
    end
  end

  def test_policies_end_with_another_install
    server = serve_sequence("/" => [BUSY])
    install(retry: RETRY) do
      Trunkline::NetHTTP.install!
      Net::HTTP.get(URI(server.url("/")))
    end
    assert_equal 1, server.requests.size
  end

  def test_a_breaker_that_is_open_is_a_connection_that_is_not_opened
    server = serve_sequence("/" => [BUSY])
    install(breaker: { minimum: 1 }) do
      assert_equal "503", Net::HTTP.get_response(URI(server.url("/"))).code
      error = assert_raises(Net::OpenTimeout) { Net::HTTP.get(URI(server.url("/"))) }
      assert_instance_of Trunkline::BreakerOpen, error.cause
      assert_equal 1, server.requests.size
    end
  end

  def test_a_deadline
    server = serve { |connection| connection.read_request && sleep(1) }
    install do
      error = assert_raises(Net::ReadTimeout) { Trunkline.deadline(0.2) { Net::HTTP.get(URI(server.url("/"))) } }
      assert_instance_of Trunkline::DeadlineExceeded, error.cause
    end
  end

  def test_middleware
    server = serve
    tag = ->(request, forward) { forward.call(request.with(headers: { "X-Tag" => "1" })) }
    install(use: tag) { Net::HTTP.post(URI(server.url("/p?a=1")), "text") }
    request = server.requests.first
    assert_equal ["/p?a=1", "1", "text"], [request.target, request["X-Tag"], request.body]
  end

  def test_other_options_are_refused
    error = assert_raises(Trunkline::InvalidRequest) { Trunkline::NetHTTP.install!(timeout: 3) }
    assert_match(/option: must be one of policies, .*retry, .* Net::HTTP's own, got :timeout/, error.message)
  end
end
