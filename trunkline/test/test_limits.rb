# frozen_string_literal: true

require_relative "test_helper"
require "zlib"

# The default limits of every client for the size of a body; the error names the option.
class TestLimits < TrunklineTest
  MEBIBYTE = 1024 * 1024
  WHOLE = 256 * MEBIBYTE
  PIECE = ("x" * MEBIBYTE).freeze

  def test_a_bomb_is_stopped_by_default
    response = response_bytes(Zlib.gzip(Zlib.gzip("\0" * (32 * MEBIBYTE))), "Content-Encoding" => "gzip, gzip")
    assert_too_large(/max_decode_ratio: 100\b/) { client(serve(response).url).get("/") }
  end

  def test_a_streamed_bomb_is_stopped_by_default
    received = 0
    http = client(serve(gzipped(32 * MEBIBYTE)).url)
    assert_too_large(/max_decode_ratio: 100\b/) { http.get("/") { |chunk| received += chunk.bytesize } }
    assert_operator received, :<=, 17 * MEBIBYTE
  end

  # One small compressed piece that holds the whole body is decompressed in steps.
  def test_a_streamed_body_comes_in_pieces_however_well_it_is_packed
    sizes = []
    http = client(serve(gzipped(64 * MEBIBYTE)).url, max_decode_ratio: nil)
    http.get("/") { |chunk| sizes << chunk.bytesize }
    assert_equal 64 * MEBIBYTE, sizes.sum
    assert_operator sizes.max, :<=, 256 * 1024
  end

  def test_the_ratio_means_nothing_before_16_mib
    assert_equal 16 * MEBIBYTE, client(serve(gzipped(16 * MEBIBYTE)).url, max_decode_ratio: 1).get("/").body.size
  end

  def test_the_ratio_can_be_lifted
    [nil, 2000].each do |ratio|
      assert_equal 20 * MEBIBYTE, client(serve(gzipped(20 * MEBIBYTE)).url, max_decode_ratio: ratio).get("/").body.size
    end
  end

  def test_a_length_beyond_the_default_is_refused_before_the_body
    server = serve("HTTP/1.1 200 OK\r\nContent-Length: #{WHOLE + 1}\r\n\r\n")
    assert_too_large(/max_body_bytes: #{WHOLE}\b/) { client(server.url).get("/") }
  end

  def test_an_endless_body_ends_at_the_default
    [->(http) { http.get("/") }, ->(http) { http.get("/", stream: true).body }].each do |call|
      assert_too_large(/max_body_bytes: #{WHOLE}\b/) { call.call(client(endless.url, timeout: 40)) }
    end
  end

  def test_a_streamed_body_has_no_limit_by_default
    received = 0
    client(endless.url, timeout: 40).get("/", stream: true).each do |chunk|
      break if (received += chunk.bytesize) > WHOLE + MEBIBYTE
    end
    assert_operator received, :>, WHOLE
  end

  def test_a_limit_that_is_set_holds_for_pieces_too
    http = client(endless.url, max_body_bytes: MEBIBYTE)
    assert_too_large(/max_body_bytes: #{MEBIBYTE}\b/) { http.get("/") { nil } }
    assert_too_large(/max_body_bytes: #{MEBIBYTE}\b/) { http.with(timeout: 4).get("/", stream: true).body }
  end

  def test_the_rest_of_a_streamed_body_has_a_limit_of_its_own
    response = client(serve(response_bytes(PIECE * 3)).url, max_body_bytes: 3 * MEBIBYTE).get("/", stream: true)
    first = response.read
    assert_equal 3 * MEBIBYTE, first.bytesize + response.body.bytesize
  end

  def test_nil_lifts_the_limit
    http = client(endless.url, timeout: 40, max_body_bytes: nil)
    received = 0
    http.get("/") { |chunk| break if (received += chunk.bytesize) > WHOLE }
    assert_operator received, :>, WHOLE
    length = WHOLE + 1
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: #{length}\r\n\r\n", 0.05, :close]])
    assert_raises(Trunkline::TruncatedBody) { client(server.url, max_body_bytes: nil).get("/") }
  end

  def test_the_limits_of_a_head_name_their_options
    server = serve(response_bytes("", "X" => "a" * 500))
    { max_header_bytes: 300, max_headers: 1 }.each do |option, most|
      error = assert_raises(Trunkline::HeadersTooLarge) { client(server.url, option => most).get("/") }
      assert_includes error.message, "(#{option}: #{most})"
    end
  end

  private

  def gzipped(length) = response_bytes(Zlib.gzip("\0" * length), "Content-Encoding" => "gzip")

  def endless
    serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\n\r\n"
      loop { connection << PIECE }
    end
  end

  def assert_too_large(pattern, &call)
    error = assert_raises_with(Trunkline::BodyTooLarge, sent: :all, phase: :read, &call)
    assert_match pattern, error.message
  end
end
