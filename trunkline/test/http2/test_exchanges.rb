# frozen_string_literal: true

require "stringio"
require "zlib"
require_relative "../support/http2/http2_test"

# Requests and responses, with nginx, nghttpx and frame by frame.
class TestExchanges < HTTP2Test
  stressable

  SERVERS = { nginx: ->(path) { Nginx.url(path, :h2) }, nghttpx: ->(path) { Nghttpx.url(path) } }.freeze

  SERVERS.each do |name, url|
    define_method(:"test_get_from_#{name}") do
      response = secure_client.get(url["/page"])
      assert_equal ["2", 200, Nginx::PAGE], [response.http_version, response.status, response.body]
      assert_equal "13801", response["Content-Length"]
    end

    define_method(:"test_head_from_#{name}") do
      response = secure_client.head(url["/page"])
      assert_equal ["13801", ""], [response["content-length"], response.body]
    end

    define_method(:"test_post_to_#{name}") do
      assert_equal "POST /echo hello", secure_client.post(url["/echo"], body: "hello").body
    end

    define_method(:"test_a_large_upload_to_#{name}") do
      assert_equal "5000000", secure_client.post(url["/length"], body: StringIO.new("x" * 5_000_000)).body
    end

    define_method(:"test_not_modified_from_#{name}") do
      http = secure_client
      seen = http.get(url["/small"])
      response = http.get(url["/small"], headers: { "If-None-Match" => seen["etag"] })
      assert_equal [304, ""], [response.status, response.body]
    end

    define_method(:"test_gzip_from_#{name}") do
      response = secure_client.get(url["/text.txt"])
      assert_equal "grüße\n" * 1000, response.body
    end
  end

  def test_an_early_response_of_nginx_leaves_the_connection_usable
    http = secure_client
    response = http.post(Nginx.url("/limited", :h2), body: StringIO.new("x" * 5_000_000))
    assert_equal 413, response.status
    assert_equal "taken", http.post(Nginx.url("/limited", :h2), body: "x").body
  end

  def test_trailers_from_nginx
    response = secure_client.get(Nginx.url("/trailers", :h2))
    assert_equal ["page" * 1000, "seven"], [response.body, response.trailers["X-Sum"]]
  end

  def test_redirects_are_followed
    assert_equal Nginx::SMALL, secure_client(follow: 2).get(Nginx.url("/redirect", :h2)).body
  end

  def test_json_request_and_response
    server = serve_frames { |stream| stream.answer(stream.body, "content-type" => "application/json") }
    assert_equal({ "name" => "grün" }, h2_client.post(server.url, json: { name: "grün" }).json)
  end

  [204, 304].each do |status|
    define_method(:"test_#{status}_has_no_body") do
      server = serve_frames { |stream| stream.headers(status, "x-a": "b", end_stream: true) }
      response = h2_client.get(server.url)
      assert_equal [status, "", "b"], [response.status, response.body, response["X-A"]]
    end
  end

  def test_not_modified_with_a_length_or_an_empty_body
    [true, false].each do |ends|
      server = serve_frames do |stream|
        stream.headers(304, "content-length": 7, end_stream: ends)
        stream.data("", end_stream: true) unless ends
      end
      response = h2_client.get(server.url)
      assert_equal [304, "", "7"], [response.status, response.body, response["Content-Length"]]
    end
  end

  def test_head_with_a_length
    server = serve_frames { |stream| stream.headers(200, "content-length": 1000, end_stream: true) }
    response = h2_client.head(server.url)
    assert_equal ["1000", ""], [response["Content-Length"], response.body]
  end

  def test_a_response_in_padded_data_frames_of_all_sizes
    server = serve_frames do |stream|
      stream.headers
      [0, 1, 100].each { |padding| stream.data("abc" * 500, piece: 70, padding: padding) }
      stream.data("", end_stream: true)
    end
    assert_equal "abc" * 1500, h2_client.get(server.url).body
  end

  # Without Huffman coding (RFC 7541 5.2) the field is larger than nghttpx reads at all, and it ends the connection.
  def test_a_large_request_field_is_compressed
    assert_equal 431, secure_client.get(Nghttpx.url, headers: { "X-Long" => "y" * 70_000 }).status
  end

  def test_fields_of_all_bytes_arrive
    server = serve_frames { |stream| stream.answer("ok") }
    http = h2_client(server.url)
    values = ["y" * 300, "\u00e9\u00e8 " * 20, "abc~|^`{}" * 5, "Bearer #{"t0ken." * 9}"]
    2.times do
      values.each do |value|
        http.get("/", headers: { "X-Value" => value.strip, "Authorization" => value.strip, "Cookie" => value.strip })
        fields = server.requests.last.headers.to_h
        assert_equal [value.strip.b] * 3, fields.values_at("x-value", "authorization", "cookie").map(&:b)
      end
    end
  end

  def test_a_head_over_several_frames
    server = serve_frames { |stream| stream.headers(200, "x-long": "y" * 3000, end_stream: true, split: 700) }
    assert_equal "y" * 3000, h2_client.get(server.url)["X-Long"]
  end

  def test_fields_that_come_twice
    server = serve_frames do |stream|
      stream.connection.header_block(stream.id, [%w[:status 200], %w[set-cookie a=1], %w[set-cookie b=2]], true)
    end
    assert_equal %w[a=1 b=2], h2_client.get(server.url).headers.get_all("Set-Cookie")
  end

  def test_trailers
    server = serve_frames do |stream|
      stream.headers(200, trailer: "x-sum")
      stream.data("body")
      stream.trailers("x-sum": "7")
    end
    response = h2_client.get(server.url)
    assert_equal %w[body 7], [response.body, response.trailers["X-Sum"]]
  end

  def test_early_hints
    server = serve_frames do |stream|
      %w[</a> </b>].each { |link| stream.informational(103, link: link) }
      stream.answer("page")
    end
    seen = []
    response = h2_client.get(server.url, early_hints: ->(headers) { seen << headers["Link"] })
    assert_equal ["page", %w[</a> </b>]], [response.body, seen]
  end

  def test_gzip
    server = serve_frames { |stream| stream.answer(Zlib.gzip("hello"), "content-encoding": "gzip") }
    assert_equal "hello", h2_client.get(server.url).body
  end

  def test_streamed_gzip_is_decoded_in_chunks
    server = serve_frames { |stream| stream.answer(Zlib.gzip("\0" * 20_000_000), "content-encoding": "gzip") }
    sizes = []
    h2_client(max_decode_ratio: nil).get(server.url) { |chunk| sizes << chunk.bytesize }
    assert_equal 20_000_000, sizes.sum
    assert_operator sizes.max, :<=, 256 * 1024
  end

  def test_gzip_that_is_cut_short
    server = serve_frames { |stream| stream.answer(Zlib.gzip("hello")[0..-3], "content-encoding": "gzip") }
    http = h2_client(server.url)
    assert_raises(Trunkline::DecodeError) { http.get("/") }
    assert_raises(Trunkline::DecodeError) { http.get("/") }
    assert_equal 1, server.connection_count, "a faulty response does not end the connection"
  end

  def test_a_body_longer_or_shorter_than_content_length
    { 3 => "hello", 9 => "hello" }.each do |length, body|
      server = serve_frames { |stream| stream.answer(body, "content-length": length) }
      error = assert_raises(Trunkline::ProtocolError) { h2_client.get(server.url) }
      assert_facts error, phase: :read, sent: :all
    end
  end

  def test_bodies_larger_than_allowed
    server = serve_frames { |stream| stream.answer("x" * 200_000) }
    http = h2_client(server.url, max_body_bytes: 100_000)
    assert_raises(Trunkline::BodyTooLarge) { http.get("/") }
    assert_equal :cancel, server.streams.first.wait_reset
  end

  def test_bodies_that_are_sent
    server = serve_frames { |stream| stream.answer("#{stream["content-length"].inspect} #{stream.body}") }
    http = h2_client(server.url)
    sources = { "text" => '"4" text', StringIO.new("from io") => '"7" from io', %w[a b].each => "nil ab", "" => '"0" ',
                -> { @given ? nil : (@given = "called") } => "nil called" }
    sources.each { |source, expected| assert_equal expected, http.post("/", body: source).body }
  end

  def test_expect_waits_for_continue
    server = serve_frames do |stream|
      sleep 0.2
      before = stream.request.body.dup
      stream.informational(100)
      stream.answer("#{before.inspect} then #{stream.body}")
    end
    assert_equal "\"\" then hello", h2_client.post(server.url, body: "hello", expect: 2).body
    assert_equal "100-continue", server.requests.first["Expect"]
  end

  def test_expect_that_is_refused_keeps_the_body_here
    server = serve_frames { |stream| stream.answer("no", status: 401) }
    http = h2_client(server.url)
    assert_equal([401, 401], Array.new(2) { http.post("/", body: "secret", expect: 30).status })
    assert_equal ["", ""], server.requests.map(&:body)
    assert_equal 1, server.connection_count
  end

  def test_an_expectation_that_is_not_met_is_left_out
    server = serve_frames do |stream|
      stream.request["Expect"] ? stream.answer(status: 417) : stream.answer(stream.body)
    end
    response = h2_client.post(server.url, body: "hello", expect: 2)
    assert_equal "hello", response.body
    assert_equal(%i[first without_expect], response.attempts.map(&:reason))
    assert_equal 1, server.connection_count
  end

  def test_a_refusal_while_the_body_is_sent
    server = serve_frames(grants: :never) do |stream|
      stream.read
      stream.answer("too large", status: 413)
      stream.reset(:no_error)
    end
    http = h2_client(server.url)
    body = Enumerator.new { |out| loop { out << "x" * 10_000 } }
    2.times do
      response = http.post("/", body: body)
      assert_equal [413, "too large"], [response.status, response.body]
      server.connection.grant(70_000)
    end
    assert_equal 1, server.connection_count
  end

  # Every new object triggers a minor collection.
  def test_the_collector_at_every_turn
    url = Nginx.url("/", :h2)
    http = secure_client(url, max_idle: 4, timeout: 20)
    GC.stress = GCLevel::YOUNG_ONLY
    assert_equal "133", http.get("/small", headers: { "X-A" => "b" }, params: { a: 1 })["Content-Length"]
    assert_equal "seven", http.get("/trailers", stream: true).tap { |response| response.each(&:size) }.trailers["X-Sum"]
    assert_equal "6", http.post("/length", body: %w[one two].each, headers: { "Content-Length" => "6" }).body
  ensure
    GC.stress = false
  end

  def test_many_calls_leave_nothing
    http = secure_client(Nginx.url("/", :h2), max_idle: 4)
    http.get("/small")
    before = LeakCheck.descriptors.size
    200.times { http.get("/small") }
    assert_equal before, LeakCheck.descriptors.size
    return unless GCLevel::LEVEL == "normal" && Trunkline::ENGINE == :c

    assert_operator Memory.objects_per_call {
      http.get("/small").body
    }, :<=, 12
  end

  def test_a_large_download_and_a_large_upload_at_once
    server = serve_frames do |stream|
      stream.headers
      20.times { stream.data("d" * 50_000) }
      stream.data(stream.body.bytesize.to_s, end_stream: true)
    end
    received = +""
    h2_client.post(server.url, body: StringIO.new("u" * 1_000_000)) { |chunk| received << chunk }
    assert_equal "1000000", received.delete("d")
  end
end
