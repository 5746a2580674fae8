# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/framing_table"

# RFC 9112, strictly: each row of the table as one piece, byte by byte, cut at every byte, and followed by an
# unsolicited response.
class TestFraming < TrunklineTest
  include FramingTable

  POISON = Responses.response_bytes("EVIL")

  def self.each_row(rows, suffix)
    rows.each do |name, (bytes, expected)|
      reuse = expected.is_a?(String) && !TOLERATED.key?(name)
      define_method(:"test_#{name}_#{suffix}") { yield_row(suffix, bytes.b, expected, reuse) }
    end
  end

  each_row(SMALL, "in_one_piece")
  each_row(SMALL, "byte_by_byte")
  each_row(SMALL, "cut_at_every_byte")
  each_row(SMALL, "before_poison")
  each_row(LARGE, "in_one_piece")
  each_row(TOO_LARGE, "in_one_piece")
  each_row(ENDED, "until_the_end")

  def test_bytes_after_a_response_to_head_are_no_response
    server = serve_hostile { |connection| connection << (response_bytes("body that HEAD must not have") + POISON) }
    http = client(server.url)
    assert_equal "", http.head("/").body
    assert_right(http)
  end

  def test_the_error_quotes_a_malformed_status_line
    { "GET /7 HTTP/1.1\r\n" => '"GET /7 HTTP/1.1\x0D\x0A"', "\x15\x03\x01\x00\xff" => '"\x15\x03\x01\x00\xFF"',
      "HTTP/1.1 \"a\\\r\n" => '"HTTP/1.1 \x22a\x5C\x0D\x0A"', "x" * 50 => "\"#{"x" * 24}\"" }.each do |bytes, quoted|
      error = assert_raises(Trunkline::InvalidResponse) { client(serve(bytes.b).url).get("/") }
      assert_includes error.message, "the status line is malformed (#{quoted});"
    end
  end

  def test_bytes_after_no_content_are_no_response
    server = serve_hostile { |connection| connection << ("HTTP/1.1 204 X\r\n\r\nEVIL" + POISON) }
    http = client(server.url)
    assert_equal "", http.get("/").body
    assert_right(http)
  end

  ODD = ["Content-Length: 2, 5", "Content-Length: two", "Transfer-Encoding: gzip",
         "Content-Length: 2\r\nTransfer-Encoding: chunked"].freeze

  def test_a_response_to_head_has_no_body_with_any_framing
    ODD.each do |fields|
      server = serve_hostile { |connection| connection << (FramingTable.head(fields) + POISON) }
      http = client(server.url)
      response = http.head("/")
      assert_equal [200, ""], [response.status, response.body], fields
      assert_right(http)
      assert_equal 2, server.connection_count
      assert_raises(Trunkline::InvalidResponse) { client(serve(FramingTable.head(fields)).url).get("/") }
    end
  end

  def test_folds_are_spaces_to_the_caller
    head = FramingTable.head("X-A: one \t", "\t two", " three", "X-B:", " 4", "Content-Length: 0")
    response = client(serve(head).url).get("/")
    assert_match(/\Aone +two +three\z/, response["X-A"])
    assert_equal "4", response["X-B"]
    trailers = "#{FramingTable::CHUNKED}0\r\nX-C: 5\n 6\n\n"
    assert_match(/\A5 +6\z/, client(serve(trailers).url).get("/").trailers["X-C"])
  end

  def test_content_length_applies_only_to_its_response
    server = serve do |connection|
      while (request = connection.read_request)
        head = "HTTP/1.1 200 OK\r\nContent-Length: 123\r\n\r\n"
        connection << (request.verb == "HEAD" ? head : response_bytes("456"))
      end
    end
    http = client(server.url)
    http.head("/")
    assert_equal "456", http.get("/").body
  end

  # The server keeps the connection open, and would respond to further requests.
  def test_a_connection_that_is_to_be_closed_is_not_used_again
    close = ["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
             "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"]
    close.each do |bytes|
      server = serve { |connection| connection << bytes while connection.read_request }
      http = client(server.url)
      2.times { assert_equal "ok", http.get("/").body }
      assert_equal 2, server.connection_count, bytes
    end
  end

  def test_header_limits_can_be_set
    server = serve(response_bytes("", "X" => "a" * 500))
    assert_raises(Trunkline::HeadersTooLarge) { client(server.url, max_header_bytes: 400).get("/") }
    assert_equal 200, client(server.url, max_header_bytes: 4000).get("/").status
    assert_raises(Trunkline::HeadersTooLarge) { client(server.url, max_headers: 1).get("/") }
    assert_equal 200, client(server.url, max_headers: 2).get("/").status
  end

  def test_a_body_limit_can_be_set
    [response_bytes("a" * 100), chunked_response("a" * 60, "b" * 60)].each do |bytes|
      http = client(serve(bytes).url, max_body_bytes: 99)
      assert_raises_with(Trunkline::BodyTooLarge, sent: :all) { http.get("/") }
      assert_equal bytes.bytesize > 150 ? 120 : 100, client(serve(bytes).url, max_body_bytes: 120).get("/").body.size
    end
  end

  def test_an_endless_body_stops_at_its_limit
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\n\r\n"
      loop { connection << ("x" * 65_536) }
    end
    assert_quick { assert_raises(Trunkline::BodyTooLarge) { client(server.url, max_body_bytes: 1_000_000).get("/") } }
  end

  # A pattern in quadratic time would take many seconds, without regard to the timeout.
  def test_many_blanks_in_fields_take_little_time
    blanks = " " * 50_000
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    { "X: a#{blanks}b\r\n c" => "a#{blanks}b c", "Set-Cookie: a=b#{blanks}c" => "a=b#{blanks}c",
      "Content-Type: text/html#{blanks}x" => "text/html#{blanks}x", "Connection: a,b#{blanks}c" => "a,b#{blanks}c" }
      .each do |line, value|
      url = serve("HTTP/1.1 200 OK\r\n#{line}\r\nContent-Length: 1\r\n\r\nx").url
      response = client(url, cookies: true).get("/")
      assert_equal ["x", value], [response.body, response[line[/[^:]+/]]]
    end
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 2
  end

  private

  def yield_row(way, bytes, expected, reuse)
    case way
    when "in_one_piece" then check(expected, reuse) { |connection| connection << bytes }
    when "byte_by_byte" then check(expected, reuse) { |connection| connection.drip(bytes, every: 0) }
    when "cut_at_every_byte" then check_every_cut(bytes, expected)
    when "before_poison" then check(expected, false) { |connection| connection << (bytes + POISON) }
    when "until_the_end" then check_ended(bytes, expected)
    end
  end

  # After a valid response the connection is reused; after any other it must never be.
  def check(expected, reuse, &first_answer)
    server = serve_hostile(&first_answer)
    http = client(server.url)
    assert_outcome(expected) { http.get("/") }
    assert_right(http)
    assert_equal reuse ? 1 : 2, server.connection_count
    assert_equal 2, server.requests.size, "nothing is sent twice"
  end

  # Makes many connections to one server, each cut at another byte.
  def check_every_cut(bytes, expected)
    server = serve do |connection|
      cut = connection.read_request.target.delete("/").to_i
      connection << bytes[0, cut]
      sleep 0.001
      connection << bytes[cut..]
      connection.stall
    end
    (1...bytes.bytesize).each do |cut|
      http = Trunkline.new(server.url, timeout: 5)
      assert_outcome(expected, "cut at #{cut}") { http.get("/#{cut}") }
    ensure
      http&.close
    end
  end

  def check_ended(bytes, expected)
    server = serve(script: [[:read, bytes, :close], [:read, response_bytes("right")]])
    http = client(server.url)
    response = http.get("/")
    assert_equal expected, response.body
    assert_predicate response, :length_unknown?
    assert_right(http)
  end

  # The first response is the hostile one, all others are "right".
  def serve_hostile
    serve do |connection|
      connection.read_request
      yield connection if connection.number == 1
      connection << response_bytes("right") if connection.number > 1
      connection << response_bytes("right") while connection.read_request
    end
  end

  def assert_right(http) = assert_equal("right", http.get("/second").body)

  def assert_outcome(expected, message = nil, &block)
    return assert_equal(expected, block.call.body, message) if expected.is_a?(String)

    error_class = expected == :invalid ? Trunkline::InvalidResponse : Trunkline::HeadersTooLarge
    error = assert_raises(error_class, message, &block)
    assert_equal :all, error.sent, message
    assert_includes %i[first_byte read], error.phase, message
  end
end
