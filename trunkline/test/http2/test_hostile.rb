# frozen_string_literal: true

require_relative "../support/http2/http2_test"
require_relative "../hostile/http2_cases"

# Servers that break the protocol, or send endlessly within it: the connection must be closed with an error that names
# the reason, and the next call must use a new connection.
class TestHostile < HTTP2Test
  HostileHTTP2::Floods::OF_A_CONNECTION.each_key do |name|
    define_method(:"test_a_flood_of_#{name}") do
      server = serve_flood(name)
      assert_ends_the_connection(server) { |http| http.get("/") }
    end
  end

  # A flood for a closed stream is noticed when the next call reads the connection.
  HostileHTTP2::Floods::OF_A_STREAM.each_key do |name|
    define_method(:"test_a_flood_of_#{name}") do
      server = serve_flood(name)
      http = h2_client(server.url, timeout: 10)
      assert_raises(Trunkline::StreamReset, Trunkline::InvalidResponse) { http.get("/") }
      eventually { outcome { http.get("/next") }.is_a?(Trunkline::Response) }
    end
  end

  def self.bytes(*list) = list.pack("C*")

  # Frames that no server may send; each ends the connection (RFC 9113).
  BROKEN = {
    data_on_stream_0: ->(c, _) { c.frame(:data, 0, 0, "x") },
    data_on_a_stream_that_was_never_opened: ->(c, _) { c.frame(:data, 0, 99, "x") },
    headers_on_stream_0: ->(c, _) { c.frame(:headers, Frame::END_HEADERS, 0, "\x88") },
    headers_on_a_stream_of_the_server: ->(c, _) { c.frame(:headers, Frame::END_HEADERS, 2, "\x88") },
    reset_on_a_stream_that_was_never_opened: ->(c, _) { c.frame(:rst_stream, 0, 99, "\0\0\0\x08") },
    priority_on_stream_0: ->(c, _) { c.frame(:priority, 0, 0, "\0\0\0\0\x10") },
    reset_of_3_bytes: ->(c, id) { c.frame(:rst_stream, 0, id, "\0\0\0") },
    settings_on_a_stream: ->(c, id) { c.frame(:settings, 0, id) },
    settings_of_5_bytes: ->(c, _) { c.frame(:settings, 0, 0, "\0" * 5) },
    settings_acknowledged_with_content: ->(c, _) { c.frame(:settings, Frame::ACK, 0, "\0" * 6) },
    a_window_of_2_to_the_31: ->(c, _) { c.send_settings(initial_window_size: 1 << 31) },
    frames_smaller_than_allowed: ->(c, _) { c.send_settings(max_frame_size: 100) },
    push_switched_on: ->(c, _) { c.send_settings(enable_push: 2) },
    ping_of_7_bytes: ->(c, _) { c.send_ping("1234567") },
    ping_on_a_stream: ->(c, id) { c.frame(:ping, 0, id, "12345678") },
    goaway_on_a_stream: ->(c, id) { c.frame(:goaway, 0, id, "\0" * 8) },
    goaway_of_7_bytes: ->(c, _) { c.frame(:goaway, 0, 0, "\0" * 7) },
    goaway_for_a_stream_of_the_server: ->(c, _) { c.frame(:goaway, 0, 0, [2, 0].pack("NN")) },
    goaway_for_more_streams_than_before: ->(c, _) { [1, 3].each { |id| c.frame(:goaway, 0, 0, [id, 0].pack("NN")) } },
    window_update_of_nothing: ->(c, _) { c.grant(0) },
    window_update_of_too_much: ->(c, _) { 2.times { c.grant(0x7fff_ffff) } },
    a_frame_larger_than_allowed: ->(c, id) { c.frame(:data, 0, id, "x" * 20_000) },
    continuation_of_nothing: ->(c, id) { c.frame(:continuation, Frame::END_HEADERS, id, "\x88") },
    another_frame_inside_a_header_block: ->(c, id) { c.frame(:headers, 0, id, "\x88").send_ping },
    a_header_index_of_0: ->(c, id) { c.frame(:headers, Frame::END_HEADERS, id, "\x80") },
    a_header_index_beyond_the_table: ->(c, id) { c.frame(:headers, Frame::END_HEADERS, id, "\xff\x40") },
    more_padding_than_frame: ->(c, id) { c.frame(:headers, Frame::END_HEADERS | Frame::PADDED, id, "\x09\x88") },
    push: ->(c, id) { c.frame(:push_promise, Frame::END_HEADERS, id, "\0\0\0\x02\x88") },
    http1: ->(c, _) { c.raw("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") }
  }.freeze

  BROKEN.each do |name, send|
    define_method(:"test_#{name}") do
      server = serve_frames do |stream|
        stream.target == "/next" ? stream.answer : send.call(stream.connection, stream.id)
      end
      assert_ends_the_connection(server) { |http| http.get("/") }
    end
  end

  # It arrives together with the response, and only its first bytes: the connection must not be used again.
  def test_a_header_section_that_begins_behind_the_end_of_a_stream
    server = serve_response_with { |id| [0, 5, 1, Frame::END_HEADERS, id].pack("CnCCN") }
    assert_next_call(server, connections: 2)
  end

  # The priority before it is incomplete: the next call is still made on the connection, and its response completes it.
  def test_a_header_section_that_has_not_begun
    server = serve_response_with { [0, 6, 1, Frame::PRIORITY, 99, 0].pack("CnCCNn") }
    http = h2_client(server.url, timeout: 10)
    assert_equal 200, http.get("/").status
    assert_raises(Trunkline::InvalidResponse) { http.get("/next") }
    assert_equal 1, server.connection_count
  end

  # Only frames of open streams are looked into.
  def test_padding_without_a_frame_for_a_stream_that_has_ended
    server = serve_response_with { |id| [0, 0, 0, Frame::PADDED, id].pack("CnCCN") }
    assert_next_call(server, connections: 1)
  end

  # Malformed responses (RFC 9113 8.1.1), which fail only their own stream.
  MALFORMED = {
    without_a_status: [%w[x-a b]],
    a_status_of_letters: [%w[:status abc]],
    a_status_of_two_digits: [%w[:status 20]],
    two_statuses: [%w[:status 200], %w[:status 200]],
    switching_protocols: [%w[:status 101]],
    a_pseudo_header_of_requests: [%w[:status 200], %w[:path /]],
    an_unknown_pseudo_header: [%w[:status 200], %w[:what x]],
    a_pseudo_header_behind_another: [%w[x-a b], %w[:status 200]],
    capitals_in_a_name: [%w[:status 200], %w[X-A b]],
    a_blank_in_a_name: [%w[:status 200], ["x a", "b"]],
    a_line_end_in_a_value: [%w[:status 200], ["x-a", "b\r\nc: d"]],
    nul_in_a_value: [%w[:status 200], ["x-a", "b\0c"]],
    connection_specific: [%w[:status 200], %w[connection close]],
    transfer_encoding: [%w[:status 200], %w[transfer-encoding chunked]],
    two_lengths: [%w[:status 200], %w[content-length 1], %w[content-length 2]],
    a_length_of_letters: [%w[:status 200], %w[content-length x]]
  }.freeze

  MALFORMED.each do |name, fields|
    define_method(:"test_a_response_with_#{name}") do
      server = serve_frames do |stream|
        stream.target == "/next" ? stream.answer : stream.connection.header_block(stream.id, fields, false)
      end
      http = h2_client(server.url)
      error = assert_raises(Trunkline::ProtocolError) { http.get("/") }
      assert_facts error, sent: :all, attempt: 1
      assert_equal "ok", http.get("/next").body
    end
  end

  def test_informational_that_ends_the_stream
    server = serve_frames { |stream| stream.connection.header_block(stream.id, [%w[:status 103]], true) }
    assert_raises(Trunkline::ProtocolError) { h2_client(server.url).get("/") }
  end

  # The second head arrives with the response or after it, so the error may be raised by the next call.
  def test_a_head_on_a_stream_that_is_closed_ends_the_connection
    server = serve_frames do |stream|
      stream.answer
      stream.connection.header_block(stream.id, [%w[:status 200]], true) if stream.target == "/"
    end
    http = h2_client(server.url)
    assert_equal "ok", http.get("/").body
    result = outcome { http.get("/next") }
    assert_kind_of Trunkline::ProtocolError, result unless result.is_a?(Trunkline::Response)
    assert_equal "ok", http.get("/next").body
    assert_equal 2, server.connection_count
  end

  # The server sends the head before it has received the stream's reset.
  def test_a_head_on_a_stream_that_was_reset_is_passed_over
    server = serve_frames do |stream|
      next stream.answer if stream.target == "/next"

      sleep 0.3
      stream.connection.header_block(stream.id, [%w[:status 200]], true)
    end
    http = h2_client(server.url)
    assert_raises(Trunkline::FirstByteTimeout) { http.get("/", timeout: { first_byte: 0.1, total: 5 }) }
    sleep 0.4
    2.times { assert_equal "ok", http.get("/next").body }
    assert_equal 1, server.connection_count
  end

  def test_data_before_the_head
    server = serve_frames { |stream| stream.frame(:data, Frame::END_STREAM, "x") }
    assert_raises(Trunkline::ProtocolError) { h2_client(server.url).get("/") }
  end

  def test_trailers_that_do_not_end_the_stream
    server = serve_frames do |stream|
      stream.headers.data("x")
      stream.connection.header_block(stream.id, [%w[x-sum 1]], false)
    end
    assert_raises(Trunkline::ProtocolError) { h2_client(server.url).get("/") }
  end

  def test_a_header_list_larger_than_allowed
    sections = {
      many_bytes: [%w[:status 200], *Array.new(100) { |number| ["x-#{number}", "b" * 1000] }],
      many_fields: [%w[:status 200], *Array.new(300) { |number| ["x-#{number}", "b"] }]
    }
    sections.each_value do |fields|
      server = serve_frames do |stream|
        stream.target == "/next" ? stream.answer : stream.connection.header_block(stream.id, fields, true, 16_000)
      end
      http = h2_client(server.url)
      assert_raises(Trunkline::HeadersTooLarge) { http.get("/") }
      assert_equal "ok", http.get("/next").body
    end
  end

  def test_a_single_field_larger_than_anything_allowed
    server = serve_frames do |stream|
      stream.connection.header_block(stream.id, [%w[:status 200], ["x-a", "b" * 200_000]], true, 16_000)
    end
    error = assert_raises(Trunkline::ProtocolError) { h2_client(server.url).get("/") }
    assert_facts error, sent: :all, attempt: 1
  end

  # Each field refers to one entry of the dynamic table: a few bytes sent, a megabyte when decoded.
  def test_a_header_list_that_grows_when_it_is_unpacked
    entry = "\x40\x01a\x7f\xb9\x1e".b + ("b" * 4000) # literal with indexing; 4000 as an integer of 7 bits
    server = serve_frames do |stream|
      stream.connection.frame(:headers, Frame::END_HEADERS, stream.id, "\x88".b + entry + ("\xbe".b * 2000))
    end
    error = assert_raises(Trunkline::ProtocolError) { h2_client(server.url).get("/") }
    assert_facts error, sent: :all
  end

  def test_push_is_refused_beforehand
    server = serve_frames
    h2_client(server.url).get("/")
    settings = server.connection.received(:settings).first.payload
    assert_includes settings.unpack("nN" * (settings.bytesize / 6)).each_slice(2), [Frame::SETTINGS[:enable_push], 0]
  end

  private

  # Responds to "/" with a flood, to other paths normally.
  def serve_flood(name)
    serve_frames { |stream| stream.target == "/" ? HostileHTTP2::Floods.send_on(stream, name) : stream.answer }
  end

  # The error must name the reason, the next call must use a new connection, and the old one must be closed.
  # Serves a response to the first call, and the bytes that the block returns behind it, in the same write.
  def serve_response_with
    serve_frames do |stream|
      next stream.answer if stream.target == "/next"

      response = [0, 1, 1, Frame::END_HEADERS | Frame::END_STREAM, stream.id, 0x88].pack("CnCCNC")
      stream.connection.raw(response + yield(stream.id))
    end
  end

  def assert_next_call(server, connections:)
    http = h2_client(server.url, timeout: 10)
    assert_equal 200, http.get("/").status
    assert_equal "ok", http.get("/next").body
    assert_equal connections, server.connection_count
  end

  def assert_ends_the_connection(server)
    http = h2_client(server.url, timeout: 10)
    error = assert_raises(Trunkline::ProtocolError) { yield http }
    assert_match(%r{HTTP/2}, error.message)
    assert_equal 1, error.attempt
    assert_equal "ok", http.get("/next").body
    assert server.ended, "the client has left"
    assert_equal 2, server.connection_count
  end
end
