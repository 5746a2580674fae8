# frozen_string_literal: true

require_relative "test_helper"

# Calls to httpbin, whose responses resemble those of real services.
class TestHttpbin < TrunklineTest
  stressable

  def setup
    super
    @http = client(Httpbin.url("/"))
  end

  def test_get_with_params
    seen = @http.get("/get", params: { "name" => "grün & co" }, headers: { "X-Own" => "value" }).json
    assert_equal({ "name" => "grün & co" }, seen["args"])
    assert_equal "value", seen["headers"]["X-Own"]
  end

  %i[post put patch delete].each do |verb|
    define_method(:"test_#{verb}_json") do
      assert_equal({ "a" => ["ü"] }, @http.public_send(verb, "/#{verb}", json: { a: ["ü"] }).json["json"])
    end
  end

  def test_form
    assert_equal({ "a" => "1 2", "b" => "&=" }, @http.post("/post", form: { a: "1 2", b: "&=" }).json["form"])
  end

  def test_upload_of_a_stream
    response = @http.post("/post", body: Array.new(100) do |number|
      "line #{number}\n"
    end, headers: { "Content-Type" => "text/plain" })
    assert_equal 100, response.json["data"].lines.size
  end

  def test_statuses
    { 200 => nil, 404 => Trunkline::ClientError, 418 => Trunkline::ClientError, 503 => Trunkline::ServerError }
      .each do |status, error|
      response = @http.get("/status/#{status}")
      assert_equal status, response.status
      error ? assert_raises(error) { response.raise_for_status! } : assert_same(response, response.raise_for_status!)
    end
  end

  %w[gzip deflate brotli].each do |coding|
    define_method(:"test_#{coding}") do
      skip "built without brotli" if coding == "brotli" && !Trunkline.features[:codings].include?("br")
      response = @http.get("/#{coding}")
      assert response.json[coding == "gzip" ? "gzipped" : coding.sub("deflate", "deflated")]
    end
  end

  def test_html_has_its_charset
    body = @http.get("/html").body
    assert_equal Encoding::UTF_8, body.encoding
    assert_includes body, "Herman Melville"
  end

  def test_a_chunked_stream
    assert_equal 5, @http.get("/stream/5").body.lines.size
    lines = +""
    @http.get("/stream/5") { |chunk| lines << chunk }
    assert_equal 5, lines.lines.size
  end

  def test_bytes
    assert_equal 10_000, @http.get("/bytes/10000").body.bytesize
    assert_equal 10_000, @http.get("/stream-bytes/10000", params: { chunk_size: 100 }).body.bytesize
  end

  def test_drip
    assert_equal "*" * 10, @http.get("/drip", params: { duration: 0.3, numbytes: 10, delay: 0 }).body
  end

  def test_delay_and_timeout
    seconds, = raised_after(Trunkline::FirstByteTimeout) { @http.get("/delay/3", timeout: { first_byte: 0.3, total: 5 }) }
    assert_took 0.3, seconds
  end

  def test_redirects
    response = @http.get("/redirect/3", follow: 5)
    assert_equal 200, response.status
    assert_equal 3, response.redirects.size
    assert_raises(Trunkline::TooManyRedirects) { @http.get("/redirect/3", follow: 2) }
    assert_equal 200, @http.get("/absolute-redirect/2", follow: 5).status
  end

  def test_basic_and_bearer
    assert_equal 200, @http.get("/basic-auth/user/pass", basic: %w[user pass]).status
    assert_equal 401, @http.get("/basic-auth/user/pass", basic: %w[user wrong]).status
    assert_equal "token", @http.get("/bearer", bearer: "token").json["token"]
  end

  def test_repeated_headers
    response = @http.get("/response-headers", params: [%w[X-A 1], %w[X-A 2]])
    assert_equal %w[1 2], response.headers.get_all("X-A")
  end

  def test_head_and_options
    assert_equal "", @http.head("/get").body
    assert_includes @http.options("/get")["Allow"], "GET"
  end

  def test_range_and_etag
    assert_equal [206, 10], @http.get("/range/100", headers: { "Range" => "bytes=0-9" }).then { |r|
      [r.status, r.body.size]
    }
    assert_equal 304, @http.get("/etag/x", headers: { "If-None-Match" => "x" }).status
  end

  def test_images_are_binary
    body = @http.get("/image/png").body
    assert_equal Encoding::BINARY, body.encoding
    assert body.start_with?("\x89PNG".b)
  end
end
