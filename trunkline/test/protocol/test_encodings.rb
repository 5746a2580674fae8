# frozen_string_literal: true

require_relative "../test_helper"
require "zlib"

# Content codings: all members and checksums are decoded and verified, and bombs are refused.
class TestEncodings < TrunklineTest
  stressable

  TEXT = "hello, world! " * 20
  BROTLI = "HxcB+I2Ubt5ECVKG1iEsbG9qlsnqAQ28WhMB".unpack1("m")
  ZSTD = "KLUv/QRorQAAcGhlbGxvLCB3b3JsZCEgAQAHoU4l7XTnig==".unpack1("m")
  BROTLI_BOMB = "z///f/gnAOKxQCD3/p/////wTwDEYQGA7v0/////4Z8AiMMiAN37f/7//8M/ARCHBQC69/8D".unpack1("m")
  BOMB_BYTES = 128 * 1024 * 1024

  SAMPLES = {
    "gzip" => Zlib.gzip(TEXT),
    "x-gzip" => Zlib.gzip(TEXT),
    "GZip" => Zlib.gzip(TEXT),
    "deflate" => Zlib.deflate(TEXT),
    "br" => BROTLI,
    "zstd" => ZSTD,
    "identity" => TEXT
  }.freeze

  SAMPLES.each do |coding, bytes|
    name = coding.tr("-", "_")
    define_method(:"test_#{name}") do
      needs(coding)
      assert_equal TEXT, get(bytes, coding).body
    end

    define_method(:"test_#{name}_byte_by_byte") do
      needs(coding)
      server = serve do |connection|
        connection.read_request
        connection.drip(response_bytes(bytes, "Content-Encoding" => coding), every: 0)
      end
      assert_equal TEXT, client(server.url).get("/").body
    end

    next if coding == "identity"

    define_method(:"test_#{name}_cut_short_at_every_byte") do
      needs(coding)
      (1...bytes.bytesize).each do |cut|
        assert_raises(Trunkline::DecodeError, "cut at #{cut}") { get(bytes[0, cut], coding) }
      end
    end

    define_method(:"test_#{name}_followed_by_garbage") do
      needs(coding)
      assert_raises(Trunkline::DecodeError) { get("#{bytes}garbage", coding) }
    end
  end

  def test_raw_deflate
    deflater = Zlib::Deflate.new(Zlib::DEFAULT_COMPRESSION, -Zlib::MAX_WBITS)
    raw = deflater.deflate(TEXT, Zlib::FINISH)
    deflater.close
    assert_equal TEXT, get(raw, "deflate").body
  end

  def test_gzip_of_many_members
    assert_equal "onetwothree", get(%w[one two three].map { |text| Zlib.gzip(text) }.join, "gzip").body
  end

  def test_gzip_with_a_truncated_second_member
    assert_raises(Trunkline::DecodeError) { get(Zlib.gzip("one") + Zlib.gzip("two")[0..-3], "gzip") }
  end

  def test_gzip_with_a_wrong_checksum
    bytes = Zlib.gzip(TEXT)
    bytes.setbyte(-8, bytes.getbyte(-8) ^ 1)
    assert_raises_with(Trunkline::DecodeError, phase: :read, sent: :all) { get(bytes, "gzip") }
  end

  def test_gzip_with_a_wrong_length
    bytes = Zlib.gzip(TEXT)
    bytes.setbyte(-1, bytes.getbyte(-1) ^ 1)
    assert_raises(Trunkline::DecodeError) { get(bytes, "gzip") }
  end

  def test_zlib_with_a_wrong_checksum
    bytes = Zlib.deflate(TEXT)
    bytes.setbyte(-1, bytes.getbyte(-1) ^ 1)
    assert_raises(Trunkline::DecodeError) { get(bytes, "deflate") }
  end

  def test_zstd_with_a_wrong_checksum
    needs("zstd")
    bytes = ZSTD.dup
    bytes.setbyte(-1, bytes.getbyte(-1) ^ 1)
    assert_raises(Trunkline::DecodeError) { get(bytes, "zstd") }
  end

  # A frame of one segment of 2 bytes, with a block of 2 MiB, raw or of one repeated byte (RFC 8878 3.1.1.2).
  def test_a_zstd_block_that_is_too_large_is_refused_at_once
    needs("zstd")
    [0, 1].each do |type|
      block = [(0x1FFFFF << 3) | (type << 1) | 1].pack("V")[0, 3]
      bytes = "\x28\xB5\x2F\xFD\x20\x02".b + block + "zz"
      server = serve(script: [[:read, response_bytes("#{bytes}more", "Content-Encoding" => "zstd")[0..-5], :stall]])
      error = assert_raises(Trunkline::DecodeError) { client(server.url).get("/") }
      assert_match(/is corrupt/, error.message)
    end
  end

  # The decoders notice the size of a block of one repeated byte when that byte comes.
  def test_a_zstd_block_that_is_too_large_and_has_no_byte_is_cut_short
    needs("zstd")
    bytes = "\x28\xB5\x2F\xFD\x20\x02".b + [(0x1FFFFF << 3) | (1 << 1)].pack("V")[0, 3]
    assert_match(/ends too early/, assert_raises(Trunkline::DecodeError) { get(bytes, "zstd") }.message)
    ["#{bytes}z", bytes.sub("\x20\x02".b, "\x20\0".b)].each do |wrong|
      assert_match(/is corrupt/, assert_raises(Trunkline::DecodeError) { get(wrong, "zstd") }.message)
    end
  end

  # 3,872 times "x", and no end. When they arrive one at a time, the output of the last bytes fills Ruby's buffer for
  # zlib exactly, and zlib holds back the rest.
  def test_a_stream_of_data_that_is_cut_short_yields_what_was_decoded
    raw = "\xED\xC11\x01\0\0\0\xC2\xA0\xDA\x8Bo\v/\xA0\0\0\0\0".b
    server = serve do |connection|
      connection.read_request
      connection.drip(response_bytes(raw, "Content-Encoding" => "deflate"), every: 0.001)
    end
    taken = +""
    error = assert_raises(Trunkline::DecodeError) { client(server.url).get("/") { |chunk| taken << chunk } }
    assert_match(/ends too early/, error.message)
    assert_equal "x" * 3872, taken
  end

  def test_a_stream_of_corrupt_data_yields_what_was_decoded
    wrong = { "gzip" => Zlib.gzip(TEXT), "deflate" => Zlib.deflate(TEXT) }
    wrong.each do |coding, bytes|
      bytes.setbyte(-1, bytes.getbyte(-1) ^ 1) # in gzip the length, in deflate the checksum
      server = serve(response_bytes(bytes, "Content-Encoding" => coding))
      chunks = []
      assert_raises(Trunkline::DecodeError) { client(server.url).get("/") { |chunk| chunks << chunk } }
      assert_equal TEXT, chunks.join, coding
      response = client(server.url).get("/", stream: true)
      assert_equal TEXT, response.read
      2.times { assert_raises(Trunkline::DecodeError) { response.read } }
    end
  end

  def test_zstd_of_many_frames
    needs("zstd")
    assert_equal TEXT * 2, get(ZSTD * 2, "zstd").body
  end

  def test_a_body_labelled_gzip_that_is_not_gzip
    assert_raises(Trunkline::DecodeError) { get(TEXT, "gzip") }
  end

  def test_an_empty_body_needs_no_decoding
    assert_equal "", get("", "gzip").body
    assert_equal "", client(serve("HTTP/1.1 204 X\r\nContent-Encoding: gzip\r\n\r\n").url).get("/").body
    assert_equal "", client(serve(response_bytes("x" * 9, "Content-Encoding" => "gzip")[0..-10]).url).head("/").body
  end

  def test_a_chain
    assert_equal TEXT, get(Zlib.gzip(Zlib.deflate(TEXT)), "deflate, gzip").body
  end

  def test_a_chain_over_two_lines
    bytes = Zlib.gzip(Zlib.deflate(TEXT))
    deflated = response_bytes(bytes, "Content-Encoding" => "deflate")
    coded = deflated.sub("deflate\r\n", "deflate\r\nContent-Encoding: gzip\r\n")
    assert_equal TEXT, client(serve(coded).url).get("/").body
  end

  def test_a_long_chain_is_refused
    bytes = 10.times.inject(TEXT) { |packed, _| Zlib.gzip(packed) }
    assert_raises(Trunkline::DecodeError) { get(bytes, (["gzip"] * 10).join(", ")) }
  end

  def test_a_body_of_unknown_coding_is_not_decoded
    response = get("secret", "rot13")
    assert_equal %w[secret rot13], [response.body, response["Content-Encoding"]]
  end

  def test_decoding_can_be_turned_off
    packed = Zlib.gzip(TEXT)
    server = serve(response_bytes(packed, "Content-Encoding" => "gzip"))
    response = client(server.url).get("/", decode: false)
    assert_equal packed, response.body.b
    assert_equal "gzip", response["Content-Encoding"]
  end

  def test_the_callers_own_accept_encoding_is_sent
    server = serve
    client(server.url).get("/", headers: { "Accept-Encoding" => "identity" })
    assert_equal "identity", server.requests.last["Accept-Encoding"]
  end

  def test_chunked_and_gzip
    packed = Zlib.gzip(TEXT)
    bytes = chunked_response(packed[0, 10], packed[10..], "Content-Encoding" => "gzip")
    assert_equal TEXT, client(serve(bytes).url).get("/").body
  end

  def test_nginx_gzip
    assert_equal "grüße\n" * 1000, client.get(Nginx.url("/text.txt")).body
  end

  { "gzip" => -> { Zlib.gzip("\0" * BOMB_BYTES) }, "deflate" => -> { Zlib.deflate("\0" * BOMB_BYTES) },
    "br" => -> { BROTLI_BOMB }, "zstd" => -> { zstd_bomb } }.each do |coding, bomb|
    define_method(:"test_a_#{coding}_bomb_is_stopped_by_its_ratio") do
      needs(coding)
      bytes = instance_exec(&bomb)
      assert_little_memory { assert_raises(Trunkline::BodyTooLarge) { get(bytes, coding, max_decode_ratio: 50) } }
    end

    define_method(:"test_a_#{coding}_bomb_is_stopped_by_the_body_limit") do
      needs(coding)
      bytes = instance_exec(&bomb)
      options = { max_body_bytes: 5_000_000, max_decode_ratio: 1_000_000 }
      assert_little_memory { assert_raises(Trunkline::BodyTooLarge) { get(bytes, coding, **options) } }
    end
  end

  def test_a_bomb_in_a_bomb
    bytes = Zlib.gzip(Zlib.gzip("\0" * BOMB_BYTES))
    assert_little_memory do
      assert_raises(Trunkline::BodyTooLarge) { get(bytes, "gzip, gzip", max_decode_ratio: 50) }
    end
  end

  def test_a_bomb_is_stopped_while_streaming
    bytes = Zlib.gzip("\0" * BOMB_BYTES)
    server = serve(response_bytes(bytes, "Content-Encoding" => "gzip"))
    received = 0
    assert_raises(Trunkline::BodyTooLarge) do
      client(server.url, max_body_bytes: 1_000_000, max_decode_ratio: 1_000_000)
        .get("/") { |chunk| received += chunk.bytesize }
    end
    assert_operator received, :<=, 1_000_000
  end

  def test_after_a_decode_error_the_connection_is_not_reused_half_read
    broken = response_bytes("broken" * 10_000, "Content-Encoding" => "gzip")
    server = serve(script: [[:read, broken, :read, response_bytes("right")],
                            [:read, response_bytes("right")]])
    http = client(server.url)
    assert_raises(Trunkline::DecodeError) { http.get("/") }
    assert_equal "right", http.get("/").body
  end

  private

  def get(bytes, coding, **options)
    server = serve(response_bytes(bytes, "Content-Encoding" => coding))
    http = Trunkline.new(server.url, timeout: 5, **options)
    http.get("/")
  ensure
    http&.close
    server.stop
  end

  # brotli and zstd are decoded if their libraries were available at build time; the client then accepts them.
  def needs(coding)
    return unless %w[br zstd].include?(coding)

    server = serve
    client(server.url).get("/")
    skip "built without #{coding}" unless server.requests.last["Accept-Encoding"].include?(coding)
  end

  # Run-length blocks of 128 KiB: magic number, frame header, window of 1 MiB, blocks of (last, type 1, size).
  def zstd_bomb
    blocks = BOMB_BYTES / 131_072
    headers = Array.new(blocks) { |index| (index == blocks - 1 ? 1 : 0) | (1 << 1) | (131_072 << 3) }
    [0xFD2FB528, 0, 0x50].pack("VCC") + headers.map { |header| "#{[header].pack("V")[0, 3]}\0" }.join
  end

  # Half of a bomb: the window of brotli alone takes 16 MiB (RFC 7932, 9.1), and the permitted body up to 32 MiB in
  # addition.
  def assert_little_memory
    before = Memory.resident_bytes
    Memory.reset_peak
    yield
    assert_operator Memory.peak_bytes - before, :<, BOMB_BYTES / 2
  end
end
