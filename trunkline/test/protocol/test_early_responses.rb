# frozen_string_literal: true

require_relative "../test_helper"

# Responses that arrive before the request is complete, informational responses, and both sides writing at once.
class TestEarlyResponses < TrunklineTest
  PIECE = "x" * 65_536
  MANY = 300 # pieces: far more than the socket buffers of both sides can hold

  def test_a_refusal_while_the_body_is_sent_is_returned
    server = serve(script: [[:read_head_only, too_large, :stall], [:read, response_bytes("next")]])
    http = client(server.url)
    response = http.post("/", body: pieces)
    assert_equal [413, "too large"], [response.status, response.body]
    assert_equal "next", http.get("/").body, "a request cut short leaves nothing behind"
    assert_equal 2, server.connection_count
  end

  def test_a_refusal_followed_by_a_close
    server = serve(script: [[:read_head_only, too_large, 0.1, :close]])
    assert_equal 413, client(server.url).post("/", body: pieces).status
  end

  def test_a_refusal_followed_by_a_reset_is_still_returned
    server = serve(script: [[:read_head_only, too_large, 0.2, :reset]])
    assert_equal 413, client(server.url).post("/", body: pieces(pause: 0.05, count: 20)).status
  end

  def test_a_refusal_over_tls
    server = serve_tls(script: [[:read_head_only, too_large, :stall], [:read, response_bytes("next")]])
    http = secure_client(server.url)
    assert_equal 413, http.post("/", body: pieces).status
    assert_equal "next", http.get("/").body
  end

  def test_nginx_refuses_a_large_body
    body = "x" * 20_000_000
    response = client.post(Nginx.url("/limited"), body: body)
    assert_equal 413, response.status
    assert_equal "taken", client.post(Nginx.url("/limited"), body: "x").body
  end

  def test_an_early_error_stops_the_body
    taken = 0
    server = serve(script: [[:read_head_only, response_bytes("no", status: "401 Unauthorized"), :stall]])
    body = Enumerator.new { |out| MANY.times { (taken += 1) && out << PIECE } }
    assert_equal 401, client(server.url).post("/", body: body).status
    assert_operator taken, :<, MANY
  end

  def test_a_server_that_dies_while_the_body_is_sent
    server = serve(script: [[:read_head_only, 0.05, :reset]])
    error = assert_raises_with(Trunkline::ConnectionClosed, attempt: 1) { client(server.url).post("/", body: pieces) }
    assert_includes %i[write first_byte], error.phase
    assert_equal :partial, error.sent
    assert_attempts 1, server
  end

  # Each side writes more than the other's buffers can hold before it reads: a client that does not read while it writes
  # would wait for ever.
  def test_both_sides_write_at_once
    server = serve do |connection|
      connection.read_head_only
      connection << "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      MANY.times { connection << chunk(PIECE) }
      connection << "0\r\n\r\n"
      connection.stall
    end
    total = 0
    client(server.url).post("/", body: pieces) { |chunk| total += chunk.bytesize }
    assert_equal MANY * PIECE.bytesize, total
  end

  def test_both_sides_write_at_once_over_tls
    server = serve_tls do |connection|
      connection.read_head_only
      connection << "HTTP/1.1 200 OK\r\nContent-Length: #{100 * PIECE.bytesize}\r\n\r\n"
      100.times { connection << PIECE }
      connection.stall
    end
    response = secure_client(server.url).post("/", body: pieces)
    assert_equal 100 * PIECE.bytesize, response.body.bytesize
  end

  def test_the_body_waits_for_continue_with_expect
    server = serve do |connection|
      connection.read_head_only
      @early = connection.read_unexpected(0.2)
      connection << "HTTP/1.1 100 Continue\r\n\r\n"
      connection << response_bytes(connection.read_exactly(5))
    end
    assert_equal "hello", client(server.url).post("/", body: "hello", expect: 2).body
    assert_nil @early
    assert_equal "100-continue", server.requests.first["Expect"]
  end

  def test_the_body_is_sent_when_continue_does_not_come
    server = serve do |connection|
      connection.read_head_only
      connection << response_bytes(connection.read_exactly(5))
    end
    http = client(server.url)
    seconds, response = timed { http.post("/", body: "hello", expect: 0.3) }
    assert_took 0.3, seconds
    assert_equal "hello", response.body
  end

  def test_a_final_response_instead_of_continue_suppresses_the_body
    server = serve do |connection|
      connection.read_head_only
      connection << response_bytes("no", status: "401 Unauthorized")
      @rest = connection.read_rest
    end
    http = client(server.url)
    assert_equal 401, http.post("/", body: "secret", expect: 2).status
    server.ended
    eventually { @rest }
    assert_equal "", @rest
  end

  def test_early_hints_are_handed_over
    server = serve(script: [[:read, hints("</a.css>"), 0.1, hints("</b.js>"), response_bytes("page"), :stall]])
    seen = []
    response = client(server.url).get("/", early_hints: ->(headers) { seen << headers["link"] })
    assert_equal "page", response.body
    assert_equal ["</a.css>", "</b.js>"], seen
    assert_equal(["</a.css>", "</b.js>"], response.early_hints.map { |headers| headers["Link"] })
  end

  def test_early_hints_are_passed_on_before_the_response
    seen = Queue.new
    server = serve(script: [[:read, hints("</a>"), ->(_) { seen.pop }, response_bytes("after them")]])
    assert_equal "after them", client(server.url).get("/", early_hints: ->(hints) { seen << hints }).body
  end

  def test_other_informational_responses_are_skipped
    bytes = "HTTP/1.1 102 Processing\r\nX: 1\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    response = client(serve(bytes + response_bytes("page")).url).get("/")
    assert_equal "page", response.body
    assert_nil response["X"]
  end

  def test_a_flood_of_informational_responses_is_refused
    server = serve do |connection|
      connection.read_request
      loop { connection << ("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 100) }
    end
    assert_quick { assert_raises(Trunkline::ProtocolError) { client(server.url).get("/") } }
  end

  def test_an_error_in_the_hints_callback_is_the_callers
    server = serve(script: [[:read, hints("</a>"), response_bytes("first"), :stall], [:read, response_bytes("second")]])
    http = client(server.url)
    assert_raises(KeyError) { http.get("/", early_hints: ->(_) { raise KeyError, "mine" }) }
    assert_equal "second", http.get("/").body
  end

  private

  def pieces(count: MANY, pause: nil)
    Enumerator.new do |out|
      count.times do
        out << PIECE
        sleep pause if pause
      end
    end
  end

  def too_large = response_bytes("too large", status: "413 Content Too Large")
  def hints(link) = "HTTP/1.1 103 Early Hints\r\nLink: #{link}\r\n\r\n"
end
