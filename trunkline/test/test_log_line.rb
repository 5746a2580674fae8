# frozen_string_literal: true

require_relative "test_helper"
require "trunkline/log_line"

# Trunkline::LogLine: the log line of a call.
class TestLogLine < TrunklineTest
  OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  def line(result, duration: 0.0344, attempts: 1, request: result.request)
    Trunkline::LogLine.of(request, result, duration, attempts)
  end

  def timed(response, **timings)
    response.instance_variable_set(:@timings, Trunkline::Timings.new(*timings.values_at(*Trunkline::Timings.members)))
    response
  end

  def test_the_line_of_a_response
    server = serve(OK)
    http = client(server.url)
    first = timed(http.get("/users?page=2&token=sesame"),
                  resolve: 0.001, connect: 0.0021, first_byte: 0.0312, total: 0.034)
    place = "#{server.address}/users?page=2&token=[hidden]"
    assert_equal "GET #{place} 200 in 34 ms (connect 3, first byte 31)", line(first)
    assert_equal "GET #{place} 200 in 34 ms (connect 3, first byte 31, 2 attempts)", line(first, attempts: 2)
    again = timed(http.get("/"), first_byte: 0.006, gvl: 0.296)
    assert_match(%r{/ 200 in 302 ms \(connect 0, first byte 6, waited 296 for Ruby's lock, 2 attempts, reused\)\z},
                 line(again, duration: 0.302, attempts: 2))
  end

  def test_an_error
    error = assert_raises(Trunkline::ConnectError) { client("http://127.0.0.1:#{refused_port}").get("/a") }
    assert_match(%r{\AGET 127\.0\.0\.1:\d+/a ConnectError in 5000 ms\z}, line(error, duration: 5, attempts: 0))
    assert_match(%r{/a ConnectError in 5000 ms \(3 attempts\)\z}, line(error, duration: 5, attempts: 3))
  end

  def test_the_line_of_a_response_without_a_connection
    request = Trunkline::Request.new("GET", Trunkline::URL.parse("http://a.test/"), [])
    response = Trunkline::Response.build(request: request, status: 204)
    assert_equal "GET a.test/ 204 in 34 ms", line(response)
  end
end
