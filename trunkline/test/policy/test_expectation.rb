# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/http2/over_http2"
require_relative "../support/call_styles"
require "stringio"

# The option expect: the responses of servers to Expect: 100-continue, and whether the body is sent.
module ExpectationTests
  include CallStyles

  FAILED = "417 Expectation Failed"

  # A server that refuses Expect, and accepts the same request without it.
  def serve_without_expect
    serve do |connection|
      while (head = connection.read_head_only)
        break connection << response_bytes("", status: FAILED, "Connection" => "close") if head["Expect"]

        connection << response_bytes(connection.read_exactly(head["Content-Length"].to_i))
      end
    end
  end

  def test_after_417_it_is_sent_without_expect
    each_call_style do |style, call|
      server = serve_without_expect
      response = call.call(client(server.url), :put, "/", body: "hello", expect: 2)
      assert_equal "hello", response.body, style
      assert_equal([[:first, 417], [:without_expect, 200]], response.attempts.map { |one| [one.reason, one.status] })
      assert_equal ["100-continue", nil], server.requests.map { |request| request["Expect"] }
    end
  end

  # Nothing was read from the stream, so it need not be rewound.
  def test_after_417_a_stream_is_sent_too
    server = serve do |connection|
      head = connection.read_head_only
      next connection << response_bytes("", status: FAILED, "Connection" => "close") if head["Expect"]

      lines = Array.new(4) { connection.read_line }
      connection << response_bytes(lines.join(" "))
    end
    assert_equal "5 hello 0 ", client(server.url).put("/", body: ["hello"].each, expect: 2).body
  end

  def test_a_body_stream_not_requested_by_the_server_is_sent_by_a_retry
    server = serve do |connection|
      connection.read_head_only
      next connection << response_bytes("", status: "503 Busy", "Connection" => "close") if connection.number == 1

      connection << "HTTP/1.1 100 Continue\r\n\r\n"
      connection << response_bytes(Array.new(4) { connection.read_line }.join(" "))
    end
    http = client(server.url, expect: 2, retry: { backoff: 0..0 })
    assert_equal "5 hello 0 ", http.put("/", body: ["hello"].each).body
  end

  def test_a_second_417_is_the_response
    server = serve { |connection| connection.read_head_only && connection << failed }
    response = client(server.url).put("/", body: "hello", expect: 2)
    assert_equal [417, 2, 2], [response.status, response.attempts.size, server.connection_count]
  end

  def test_a_417_after_a_part_of_the_body_is_the_response
    server = serve { |connection| connection.read_head_only && connection.read_exactly(5) && connection << failed }
    response = client(server.url).put("/", body: "hello", expect: 0.1)
    assert_equal [417, 1, 1], [response.status, response.attempts.size, server.connection_count]
  end

  def test_a_417_to_a_request_without_expect_is_the_response
    server = serve { |connection| connection.read_request && connection << failed }
    assert_equal 1, client(server.url, expect: { above: 5 }).put("/", body: "hello").attempts.size
  end

  REFUSALS = ["413 Content Too Large", "401 Unauthorized"].freeze

  REFUSALS.each do |status|
    define_method(:"test_#{status.to_i}_keeps_the_body_here") do
      server = serve do |connection|
        connection.read_head_only
        connection << response_bytes("no", status: status)
        @rest = connection.read_rest
      end
      reported = []
      http = client(server.url, expect: {})
      response = http.post("/", body: "x" * 2_000_000, progress: ->(one) { reported << one.bytes })
      assert_equal [status.to_i, "no"], [response.status, response.body]
      eventually { @rest }
      assert_equal "", @rest
      assert_equal [0], reported.uniq
    end
  end

  def test_a_100_starts_the_body
    server = serve do |connection|
      connection.read_head_only
      @early = connection.read_unexpected(0.1)
      connection << "HTTP/1.1 100 Continue\r\n\r\n"
      connection << response_bytes(connection.read_exactly(2_000_000).bytesize.to_s)
    end
    response = client(server.url).post("/", body: StringIO.new("x" * 2_000_000), expect: { wait: 4 })
    assert_equal "2000000", response.body
    assert_nil @early
  end

  def test_without_a_response_the_body_is_sent_after_the_wait
    server = serve do |connection|
      connection.read_head_only
      connection << response_bytes(connection.read_exactly(5))
    end
    http = client(server.url)
    seconds, response = timed { http.post("/", body: "hello", expect: { above: 4, wait: 0.3 }) }
    assert_took 0.3, seconds
    assert_equal "hello", response.body
  end

  def test_a_smaller_body_does_not_wait
    server = serve
    seconds, response = timed { client(server.url).post("/", body: "hello", expect: { above: 5, wait: 4 }) }
    assert_equal "ok", response.body
    assert_operator seconds, :<, 2
    assert_nil server.requests.first["Expect"]
  end

  private

  def failed = response_bytes("", status: FAILED, "Connection" => "close")
end

class TestExpectation < TrunklineTest # rubocop:disable Style/OneClassPerFile -- the module is for two classes
  include ExpectationTests

  def test_invalid_values_of_expect_are_refused
    { 0 => /\Aexpect: must be/, { over: 1 } => /\Aexpect: must be seconds, or a Hash of above: \(bytes\) and wait:/,
      { above: -1 } => /\Aexpect: above: must be an Integer from 0/, { wait: "1" } => /\Aexpect: wait: must be/ }
      .each do |value, message|
        error = assert_raises(Trunkline::InvalidRequest) { client("http://a.test", expect: value) }
        assert_match message, error.message
      end
  end
end

TestExpectationOverHTTP2 = OverHTTP2.test_case(ExpectationTests, except: /stream_|sent_without_expect|417|keeps/)
