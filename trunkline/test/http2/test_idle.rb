# frozen_string_literal: true

require_relative "../support/http2/http2_test"

# Idle connections: kept, checked, and closed in time.
class TestIdle < HTTP2Test
  def test_an_idle_connection_is_closed_after_idle_timeout
    server = serve_frames
    http = h2_client(server.url, idle_timeout: 0.3)
    http.get("/")
    assert_equal :eof, server.ended, "closed by the reaper, not by the next call"
    assert_equal :no_error, server.connection.goaway&.error
    assert_equal "ok", http.get("/").body
    assert_equal 2, server.connection_count
  end

  def test_a_connection_takes_no_new_calls_after_its_maximum_age
    server = serve_frames { |stream| stream.target == "/slow" ? (sleep(0.8) && stream.answer) : stream.answer }
    http = h2_client(server.url, max_age: 0.3)
    first = http.get("/")
    slow = Thread.new { http.get("/slow") }
    eventually { http.get("/").connection.id > first.connection.id }
    assert_same_connection first, slow.value
    assert_equal :eof, server.ended, "it is closed when its last call is over"
    assert_equal 2, server.connection_count
  end

  def test_a_connection_is_not_closed_while_a_stream_is_open
    server = serve_frames { |stream| sleep(0.8) && stream.answer }
    http = h2_client(server.url, idle_timeout: 0.2)
    assert_equal "ok", http.get("/").body
    assert_equal 1, server.connection_count
  end

  def test_an_idle_connection_is_closed_with_its_client
    server = serve_frames(tls: true)
    http = h2_client(server.url, max_idle: 4)
    http.get("/")
    http.close
    assert_includes %i[eof tls_close], server.ended
  end

  def test_frames_of_the_server_on_an_idle_connection_are_processed
    server = serve_frames
    http = h2_client(server.url)
    http.get("/")
    connection = server.connection
    connection.send_ping
    connection.send_settings(max_concurrent_streams: 7)
    http.get("/")
    assert(connection.wait_until(PATIENCE) { connection.received(:ping).any? { |frame| frame.flag?(Frame::ACK) } })
    assert_equal 1, server.connection_count
  end

  def test_a_call_over_a_closed_idle_connection_uses_a_new_one
    server = serve_frames
    http = h2_client(server.url)
    http.post("/", body: "x")
    server.connection.close
    response = http.post("/", body: "x")
    assert_equal 200, response.status
    assert_equal 2, server.requests.size
  end
end
