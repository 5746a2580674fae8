# frozen_string_literal: true

require_relative "support"
require "tempfile"

# The bytes that are sent for a request's options.
class TestTyphoeusRequests < TyphoeusTest
  QUERIES = {
    { a: [1, 2] } => "a%5B0%5D=1&a%5B1%5D=2",
    { a: { b: { c: "x y" } } } => "a%5Bb%5D%5Bc%5D=x%20y",
    { a: [{ b: [3] }] } => "a%5B0%5D%5Bb%5D%5B0%5D=3",
    { a: nil, b: true, "c&" => "ü+" } => "a=&b=true&c%26=%C3%BC%2B",
    { a: [], b: {} } => ""
  }.freeze

  ENCODINGS = {
    rack: "a%5B%5D=1&a%5B%5D=2", multi: "a=1&a=2", none: "a=%5B1%2C%202%5D", typhoeus: "a%5B0%5D=1&a%5B1%5D=2"
  }.freeze

  %i[get post put delete head patch options].each do |verb|
    define_method(:"test_#{verb}_sends_that_method") do
      server = serve
      assert_equal 200, Typhoeus.public_send(verb, server.url, timeout: 5).code
      assert_equal verb.name.upcase, server.requests.first.verb
    end
  end

  def test_any_other_method
    server = serve
    request(server.url, method: :purge).run
    assert_equal "PURGE", server.requests.first.verb
  end

  def test_params_are_encoded_as_ethon_does
    server = serve
    QUERIES.each do |params, query|
      request(server.url("/"), params: params).run
      assert_equal query.empty? ? "/" : "/?#{query}", server.requests.last.target
    end
  end

  def test_arrays_by_params_encoding
    server = serve
    ENCODINGS.each do |encoding, query|
      request(server.url("/"), params: { a: [1, 2] }, params_encoding: encoding).run
      assert_equal "/?#{query}", server.requests.last.target
    end
  end

  def test_params_join_a_query_and_stand_before_a_fragment
    assert_equal "www.a.test/?x=1&a=2#top", Typhoeus::Request.new("www.a.test/?x=1#top", params: { a: 2 }).url
    assert_equal "www.a.test?a=2", Typhoeus::Request.new("www.a.test", params: { a: 2 }).url
    assert_equal "www.a.test", Typhoeus::Request.new("www.a.test", params: {}).url
  end

  def test_a_url_without_scheme_is_http
    server = serve
    response = Typhoeus.get("127.0.0.1:#{server.port}/a/../b", timeout: 5)
    assert_equal server.url("/b"), response.effective_url
  end

  def test_a_hash_as_body_is_a_form
    server = serve
    request(server.url, method: :post, body: { a: [1], b: "x y" }).run
    got = server.requests.first
    assert_equal "a%5B0%5D=1&b=x%20y", got.body
    assert_equal "application/x-www-form-urlencoded", got["Content-Type"]
  end

  def test_a_string_as_body_is_sent_as_it_is
    server = serve
    request(server.url, method: :post, body: '{"a": 1}', headers: { "content-type" => "application/json" }).run
    got = server.requests.first
    assert_equal ['{"a": 1}', "application/json"], [got.body, got["Content-Type"]]
  end

  def test_put_has_no_default_content_type
    server = serve
    request(server.url, method: :put, body: "x").run
    assert_nil server.requests.first["Content-Type"]
  end

  def test_a_post_without_a_body_sends_content_length_zero
    server = serve
    request(server.url, method: :post).run
    assert_equal "0", server.requests.first["Content-Length"]
  end

  def test_a_file_makes_the_body_multipart
    server = serve
    Tempfile.create(["note", ".txt"]) do |file|
      file.write("inside")
      file.flush
      request(server.url, method: :post, body: { a: [1], file: file }, headers: { "Content-Type" => "x/y" }).run
    end
    got = server.requests.first
    assert_match(%r{\Amultipart/form-data; boundary=}, got["Content-Type"])
    assert_match(/name="a\[0\]"\r\n\r\n1\r\n/, got.body)
    assert_match(%r{name="file"; filename="note.*\.txt"\r\nContent-Type: text/plain\r\n\r\ninside\r\n}, got.body)
  end

  def test_set_read_callback_is_streamed_from_its_beginning
    server = serve
    source = StringIO.new("uploaded")
    source.read
    request(server.url, method: :put, set_read_callback: source).run
    assert_equal "uploaded", server.requests.first.body
  end

  def test_an_io_as_body_is_streamed
    server = serve
    request(server.url, method: :post, body: StringIO.new("from an io")).run
    assert_equal "from an io", server.requests.first.body
  end

  def test_header_fields_that_are_always_sent
    server = serve
    request(server.url).run
    got = server.requests.first
    assert_equal [Typhoeus::USER_AGENT, "*/*", nil, nil],
                 [got["User-Agent"], got["Accept"], got["Expect"], got["Accept-Encoding"]]
  end

  def test_a_field_without_value_is_left_out_and_one_with_a_semicolon_is_empty
    server = serve
    request(server.url, headers: { "Accept" => "", "X-Nil" => nil, "X-Empty;" => "", "X-One" => 1 }).run
    got = server.requests.first
    assert_nil got["Accept"]
    assert_nil got["X-Nil"]
    assert_equal ["", "1"], [got["X-Empty"], got["X-One"]]
  end

  def test_headers_count_more_than_options_for_fields
    server = serve
    request(server.url, headers: { "Cookie" => "a=1" }, cookie: "b=2", referer: "http://r.test/").run
    got = server.requests.first
    assert_equal ["a=1", "http://r.test/"], [got["Cookie"], got["Referer"]]
    assert_equal 1, got.raw.scan(/^cookie/i).size
  end

  def test_credentials
    server = serve
    [{ userpwd: "u:p:q" }, { username: "u", password: "p:q" }].each do |options|
      request(server.url, **options).run
      assert_equal "Basic #{["u:p:q"].pack("m0")}", server.requests.last["Authorization"]
    end
    request(server.url, xoauth2_bearer: "token").run
    assert_equal "Bearer token", server.requests.last["Authorization"]
  end

  def test_a_range_and_a_condition
    server = serve
    request(server.url, range: "0-3", timecondition: :ifmodsince, timevalue: 0).run
    got = server.requests.first
    assert_equal ["bytes=0-3", "Thu, 01 Jan 1970 00:00:00 GMT"], [got["Range"], got["If-Modified-Since"]]
  end

  def test_connections_are_reused_unless_forbid_reuse_is_set
    server = serve
    2.times { request(server.url).run }
    assert_equal 1, server.connection_count
    request(server.url, forbid_reuse: true).run
    assert_equal "close", server.requests.last["Connection"]
  end

  def test_resolve_and_connect_to_lead_elsewhere
    server = serve
    elsewhere = "there.test:#{server.port}"
    assert_equal 200, request("http://#{elsewhere}/", resolve: ["#{elsewhere}:127.0.0.1"]).run.code
    assert_equal 200, request("http://far.test/", connect_to: ["far.test:80:127.0.0.1:#{server.port}"]).run.code
    assert_equal "far.test", server.requests.last["Host"]
  end

  def test_a_proxy_with_credentials
    server = serve
    request("http://far.test/x", proxy: "127.0.0.1", proxyport: server.port, proxyuserpwd: "u:p q").run
    got = server.requests.first
    assert_equal ["http://far.test/x", "Basic #{["u:p q"].pack("m0")}"], [got.target, got["Proxy-Authorization"]]
  end

  def test_compressed_responses_are_decoded_with_accept_encoding
    packed = Zlib.gzip("plain")
    server = serve(response_bytes(packed, "Content-Encoding" => "gzip"))
    assert_equal packed, request(server.url).run.body
    assert_equal "plain", request(server.url, accept_encoding: "gzip").run.body
    assert_equal "gzip", server.requests.last["Accept-Encoding"]
  end

  def test_tls_is_verified_unless_switched_off
    server = serve_tls
    failed = request(server.url).run
    assert_equal [0, :peer_failed_verification], [failed.code, failed.return_code]
    assert_equal 200, request(server.url, cainfo: TestCA.ca_file).run.code
    assert_equal 200, request(server.url, ssl_verifypeer: false, ssl_verifyhost: 0).run.code
  end

  def test_options_that_only_libcurl_supports_are_refused_by_name
    { httpauth: :ntlm, netrc: :always, postredir: :post_308, ipresolve: :v4, sslversion: :sslv3, aws_sigv4: "x",
      max_recv_speed_large: 5 }.each do |name, value|
      error = assert_raises(Typhoeus::Errors::UnsupportedOption) { request("http://127.0.0.1:1", name => value).run }
      assert_match(/#{name}.*libcurl/m, error.message)
    end
    assert_match(%r{ftp://}, assert_raises(Typhoeus::Errors::UnsupportedOption) { Typhoeus.get("ftp://h/") }.message)
  end

  def test_unsupported_options_that_are_off_are_not_refused
    server = serve
    assert_equal 200, request(server.url, netrc: nil, postredir: 0, connect_only: false, ipresolve: :whatever).run.code
  end

  def test_unknown_and_old_names
    assert_raises(Typhoeus::Errors::InvalidOption) { request("http://127.0.0.1:1", nonsense: 1).run }
    error = assert_raises(Typhoeus::Errors::InvalidOption) do
      request("http://127.0.0.1:1", disable_ssl_peer_verification: true).run
    end
    assert_match(/ssl_verifypeer/, error.message)
    assert_output(nil, /connecttimeout/) { request("http://127.0.0.1:1", connect_timeout: 1).run }
  end

  def test_a_timeout_that_is_no_number
    error = assert_raises(ArgumentError) { request("http://127.0.0.1:1", timeout: "soon").run }
    assert_match(/timeout/, error.message)
  end

  def test_encoded_body
    assert_equal "a%5B0%5D=1", Typhoeus::Request.new("x", body: { a: [1] }).encoded_body
    assert_equal "a b", Typhoeus::Request.new("x", body: "a b").encoded_body
  end

  def test_same_requests_are_equal
    one = request("http://a.test", params: { a: 1 }, headers: { "X" => "1" })
    two = request("http://a.test", headers: { "X" => "1" }, params: { a: 1 }, method: :get)
    assert_operator one, :eql?, two
    assert_equal [one.hash, one.cache_key], [two.hash, two.cache_key]
    refute_operator one, :eql?, request("http://a.test", params: { a: 2 })
    assert_equal one.cache_key,
                 request("http://a.test", params: { a: 1 }, headers: { "X" => "1" }, cache_ttl: 5).cache_key
  end

  def test_marshal_keeps_url_and_options_and_drops_the_rest
    made = request("http://a.test", params: { a: 1 })
    made.on_complete { nil }
    read = Marshal.load(Marshal.dump(made))
    assert_equal [made.base_url, made.options, []], [read.base_url, read.options, read.on_complete]
  end

  def test_options_changed_before_the_run_count
    server = serve
    made = request(server.url)
    made.options[:headers]["X-Late"] = "yes"
    made.run
    assert_equal "yes", server.requests.first["X-Late"]
    assert_equal({ timeout: PATIENCE }, made.original_options)
  end

  def test_config_gives_defaults
    Typhoeus.configure do |config|
      config.user_agent = "mine/1"
      config.timeout = 3
    end
    made = Typhoeus::Request.new("http://a.test")
    assert_equal ["mine/1", 3], [made.options[:headers]["User-Agent"], made.options[:timeout]]
  end

  def test_verbose_shows_heads_without_credentials
    server = serve
    _, shown = capture_io { request(server.url, verbose: true, userpwd: "u:secret").run }
    assert_match(%r{^> GET / HTTP/1.1$}, shown)
    assert_match(/^> Authorization: \[hidden\]$/, shown)
    assert_match(%r{^< HTTP/1.1 200 OK$}, shown)
  end

  # Like Typhoeus: a verb for which Typhoeus itself sets customrequest overrides the caller's.
  def test_customrequest
    url = serve_echo.url
    sent = ->(verb, **options) { Typhoeus.public_send(verb, url, customrequest: "BREW", **options).body[/\A\S+/] }
    assert_equal %w[BREW BREW BREW DELETE], %i[get post put delete].map { |verb| sent.call(verb) }
    assert_equal "GET", sent.call(:get, body: "a=1")
  end

  def test_requests_without_a_body_that_have_a_length
    url = serve_echo.url
    lengths = %i[get delete options patch put post].map do |verb|
      Typhoeus.public_send(verb, url).body[/^Content-Length: .*\d/i]
    end
    assert_equal [nil, *["content-length: 0"] * 5], lengths.map { |field| field&.downcase }
  end

  def test_options_of_other_protocols_change_nothing
    assert_equal 200, request(serve.url, transfertext: true, ftp_use_epsv: true, mail_from: "a@b.test").run.code
    assert_raises(Typhoeus::Errors::UnsupportedOption) { request("http://127.0.0.1:1", header: true).run }
  end

  def test_normalized_options
    assert_equal request("a", method: "GET").normalized_options, request("a").normalized_options
    assert_equal :post, request("a", "method" => "POST", method: "POST").normalized_options[:method]
  end
end
