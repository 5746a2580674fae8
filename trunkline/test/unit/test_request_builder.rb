# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline"

# The requests that are passed to the engine, before anything is sent.
class TestRequestBuilder < UnitTest
  def builder(base = nil, **options)
    options = Trunkline::Options.new(Trunkline::Options::DEFAULTS).merge(timeout: 5, **options)
    Trunkline::RequestBuilder.new(options, base && Trunkline::URL.parse(base), 1)
  end

  def request(method = "GET", url = "http://a.test/", base: nil, client: {}, **call)
    builder(base, **client).build(method, url, call, :buffered)
  end

  def headers(...) = request(...).headers

  def test_the_usual_fields
    sent = headers
    assert_equal %w[Host User-Agent Accept Accept-Encoding], sent.names
    assert_equal ["a.test", "trunkline/#{Trunkline::VERSION}", "*/*", Trunkline::Engine::CODINGS], sent.map(&:last)
  end

  def test_nil_removes_a_default
    assert_equal %w[Host], headers(headers: { user_agent: nil, accept: nil, "Accept-Encoding" => nil }).names
    assert_equal %w[Host Accept Accept-Encoding], headers(client: { headers: { "user-agent" => nil } }).names
  end

  def test_empty_headers_are_the_same_as_none
    [{ bearer: "secret" }, { headers: { "X-A" => "1" } }].each do |client|
      %w[GET POST].each do |method|
        given = request(method, client: client, headers: {})
        assert_equal headers(method, client: client).to_a, given.headers.to_a
        assert_equal [method, "/"], [given.method, given.target]
      end
    end
  end

  def test_options_of_a_call_do_not_apply_to_later_calls
    one = builder
    assert one.build("GET", "http://a.test/", { stream: true, follow: 3 }, :buffered).streaming?
    plain = one.build("GET", "http://a.test/", {}, :buffered)
    assert_equal [false, false], [plain.streaming?, plain.follow]
    assert one.build("GET", "http://a.test/", nil, :streamed).streaming?
  end

  def test_fields_of_a_call_do_not_apply_to_later_calls
    one = builder(expect: { above: 10 })
    fields = ->(method, **call) { one.build(method, "http://a.test/", call, :buffered).headers.to_a }
    first = [fields.call("GET"), fields.call("POST"), fields.call("PUT", json: [1])]
    assert_includes fields.call("PUT", json: ["a" * 10]), %w[Expect 100-continue]
    [{ headers: { "X-A" => "1" } }, { bearer: "a" }, { basic: %w[a b] }, { form: { a: 1 } }, { body: "abc" },
     { json: 1, headers: { "Content-Type" => "application/x-json", "Connection" => "close" } }].each do |call|
      refute_includes first, fields.call("PUT", **call), call
      one.build("GET", "http://user:password@a.test/", call, :upgrade) unless call.key?(:headers)
      assert_equal first, [fields.call("GET"), fields.call("POST"), fields.call("PUT", json: [1])], call
    end
  end

  def test_references_that_must_be_resolved
    paths = { "/a/../b" => "/b", "./c" => "/d/c", "/.e" => "/.e", "/g:h" => "/g:h" }
    paths.each { |given, path| assert_equal path, request("GET", given, base: "http://a.test/d/").target, given }
    assert_refused("absolute") { request("GET", "//b.test/f", base: "http://a.test/d/") }
  end

  def test_a_calls_fields_replace_the_clients
    sent = headers(client: { headers: { "X-A" => "1", "X-B" => "2" } }, headers: { "x-a" => %w[3 4] })
    assert_equal %w[3 4], sent.get_all("X-A")
    assert_equal "2", sent["X-B"]
  end

  def test_accept_encoding_is_sent_unless_it_is_of_no_use
    assert_equal "br", headers(headers: { "Accept-Encoding" => "br" })["Accept-Encoding"]
    assert_nil headers(client: { decode: false })["Accept-Encoding"]
    assert_nil headers(headers: { "Range" => "bytes=0-9" })["Accept-Encoding"]
  end

  def test_host_can_be_another_one
    assert_equal "b.test:81", headers(headers: { "Host" => "b.test:81" })["Host"]
    assert_refused("Host") { headers(headers: { "Host" => "a b" }) }
    assert_refused("host", "once") { headers(headers: { "Host" => %w[a b] }) }
  end

  # ---- credentials ----

  CREDENTIALS = { bearer: "secret", headers: { "Cookie" => "secret", "X-Own" => "secret", "Host" => "secret" },
                  credential_headers: ["X-Own"] }.freeze

  def test_credentials_of_a_client_are_sent_only_to_its_base
    secrets = ->(url) { headers("GET", url, base: "http://base.test", client: CREDENTIALS).count { |_, v| v["secret"] } }
    %w[http://base.test/x /x http://base.test:80/].each { |url| assert_equal 4, secrets.call(url), url }
    %w[http://other.test/ https://base.test/ http://base.test:81/].each { |url| assert_equal 0, secrets.call(url), url }
  end

  def test_credentials_of_a_call_are_sent_to_any_origin
    sent = headers("GET", "http://other.test/", base: "http://base.test", bearer: "mine", headers: { "Cookie" => "c" })
    assert_equal ["Bearer mine", "c"], [sent["Authorization"], sent["Cookie"]]
  end

  def test_without_a_base_credentials_of_a_client_are_sent_to_any_origin
    assert_equal "Bearer secret", headers(client: { bearer: "secret" })["Authorization"]
  end

  def test_basic_is_base64
    assert_equal "Basic w7w6cMOkOnNz", headers(basic: ["ü", "pä:ss"])["Authorization"].b
  end

  def test_userinfo_becomes_basic_and_is_in_no_url
    sent = request("GET", "http://user:p%40ss@a.test/x")
    assert_equal "Basic #{["user:p@ss"].pack("m0")}", sent.headers["Authorization"]
    assert_equal "http://a.test/x", sent.url
    refute_includes sent.inspect, "user"
  end

  def test_options_of_the_call_override_userinfo
    assert_equal "Bearer t", headers("GET", "http://user:pass@a.test/", bearer: "t")["Authorization"]
  end

  # ---- content ----

  def test_the_length_of_the_content
    assert_equal "3", headers("POST", body: "abc")["Content-Length"]
    assert_equal "0", headers("POST", body: "")["Content-Length"]
    %w[POST PUT PATCH].each { |method| assert_equal "0", headers(method)["Content-Length"], method }
    %w[GET HEAD DELETE OPTIONS TRACE].each { |method| assert_nil headers(method)["Content-Length"], method }
  end

  def test_content_of_unknown_length_is_chunked
    sent = request("POST", body: ["a"].each)
    assert_equal "chunked", sent.headers["Transfer-Encoding"]
    assert_nil sent.headers["Content-Length"]
    assert_equal(-1, sent.content_length)
  end

  def test_a_declared_length_holds_for_content_of_unknown_length
    sent = request("POST", body: ["abc"].each, headers: { "Content-Length" => 3 })
    assert_equal ["3", 3], [sent.headers["Content-Length"], sent.content_length]
    assert_nil sent.headers["Transfer-Encoding"]
  end

  def test_a_declared_length_that_differs_is_refused
    assert_equal "3", headers("POST", body: "abc", headers: { "Content-Length" => "3" })["Content-Length"]
    assert_refused("Content-Length", "4", "3") { headers("POST", body: "abc", headers: { "Content-Length" => "4" }) }
    assert_refused("Content-Length") { headers("POST", body: "abc", headers: { "Content-Length" => "x" }) }
    assert_refused("content-length", "once") { headers("POST", body: "a", headers: { "Content-Length" => %w[1 1] }) }
  end

  def test_framing_headers_cannot_be_set_by_the_caller
    { "Transfer-Encoding" => "chunked", "Expect" => "100-continue", "Upgrade" => "websocket",
      "Connection" => "upgrade", "connection" => "clo\u017fe", "host" => "\xff" }.each do |name, value|
      assert_refused(name) { headers("POST", body: "a", headers: { name => value }) }
      assert_refused(name) { builder(headers: { name => value }) }
    end
    assert_equal "close", headers(headers: { "Connection" => "close" })["Connection"]
  end

  def test_expect_only_with_content
    assert_equal "100-continue", headers("PUT", body: "a", client: { expect: 1 })["Expect"]
    assert_nil headers("PUT", body: "", client: { expect: 1 })["Expect"]
    assert_nil headers("GET", client: { expect: 1 })["Expect"]
  end

  def test_expect_only_above_so_many_bytes
    above = { expect: { above: 3 } }
    assert_equal "100-continue", headers("PUT", body: "four", client: above)["Expect"]
    assert_nil headers("PUT", body: "thr", client: above)["Expect"]
    assert_equal "100-continue", headers("PUT", body: ["a"].each, client: above)["Expect"], "of unknown length"
    assert_nil headers("PUT", body: "a" * 1_048_576, client: { expect: {} })["Expect"]
    assert_equal "100-continue", headers("PUT", body: "a" * 1_048_577, client: { expect: {} })["Expect"]
    assert_nil headers("PUT", body: "four", headers: { "Expect" => nil }, client: above)["Expect"]
  end

  def test_content_type_of_each_kind_of_body
    sent = headers("POST", json: { a: 1 })
    assert_equal %w[application/json application/json], [sent["Content-Type"], sent["Accept"]]
    assert_equal "application/x-www-form-urlencoded", headers("POST", form: { a: 1 })["Content-Type"]
    assert_match(%r{\Amultipart/form-data; boundary=}, headers("POST", multipart: { a: 1 })["Content-Type"])
    assert_nil headers("POST", body: "a")["Content-Type"]
  end

  def test_headers_of_the_caller_override_content_type
    own = { "Content-Type" => "application/vnd.api+json", "Accept" => "x/y" }
    [headers("POST", json: 1, headers: own), headers("POST", json: 1, client: { headers: own })].each do |sent|
      assert_equal own.values, [sent["Content-Type"], sent["Accept"]]
    end
    assert_match(/boundary/, headers("POST", multipart: {}, client: { headers: own })["Content-Type"])
    assert_match(/boundary/, headers("POST", multipart: {}, headers: { "content-type" => "multipart/form-data" }).to_s)
  end

  def test_nil_and_false_are_json
    assert_equal %w[null false], [nil, false].map { |value| request("POST", json: value).body }
  end

  def test_only_one_kind_of_content
    assert_refused("body: and json:") { request("POST", body: "a", json: 1) }
    assert_refused("form: and multipart:") { request("POST", form: {}, multipart: {}) }
    assert_equal "a", request("POST", body: "a", form: nil, multipart: nil).body
  end

  def test_values_without_a_json_form_are_refused
    assert_refused("json") { request("POST", json: Float::NAN) }
  end

  def test_a_custom_encoder
    client = { json_encoder: ->(value) { "<#{value.size}>" } }
    sent = request("POST", client: client, json: { a: 1 })
    assert_equal ["<1>", "application/json"], [sent.body, sent.headers["Content-Type"]]
    assert_refused("json_encoder", "String") { request("POST", client: { json_encoder: ->(_) {} }, json: 1) }
    assert_refused("json_encoder", "JSON.method(:generate)") { builder(json_encoder: JSON) }
  end

  # ---- method and URL ----

  def test_methods
    assert_equal %w[PURGE PURGE purge], [:purge, "PURGE", "purge"].map { |method| request(method).method }
    ["", "A B", "GET\r\n", "CONNECT", :connect, nil, 5, "Ä"].each do |method|
      assert_refused("method") { request(method) }
    end
    assert_refused("TRACE") { request("TRACE", body: "a") }
  end

  def test_params_of_url_client_and_call_come_together
    sent = request("GET", "http://a.test/?a=1", client: { params: { b: 2, c: 3 } }, params: { c: 4 })
    assert_equal "/?a=1&b=2&c=4", sent.uri.target
  end

  def test_names_of_params_are_equal_as_symbol_and_string
    target = ->(client, call) { request("GET", "http://a.test/", client: { params: client }, params: call).uri.query }
    assert_equal "a=2&b=3", target.call(nil, { a: 1, "b" => 3, "a" => 2 })
    assert_equal "a=2", target.call({ "a" => 1 }, { a: 2 })
    assert_equal "a=2", target.call({ a: 1, "a" => 5 }, { a: 2 })
    assert_equal "a=2&b%5B%5D=1", target.call({ a: 1, b: [1] }, { "a" => 2 })
  end

  def test_params_are_added_to_an_existing_query
    { "http://a.test/x?a=1" => "/x?a=1&b=2", "http://a.test/x" => "/x?b=2", "http://a.test/x?" => "/x?b=2",
      "http://a.test?" => "/?b=2", "http://a.test/x y?" => "/x%20y?b=2" }.each do |url, target|
      [{ b: 2 }, [["b", 2]]].each { |params| assert_equal target, request("GET", url, params: params).target }
    end
  end

  def test_a_cached_url_is_the_same_as_a_new_one
    kept = builder("http://base.test/v1")
    first, second = Array.new(2) { kept.build("POST", "x", { body: "a", params: { a: 1 } }, :buffered) }
    assert_equal ["http://base.test/v1/x?a=1"] * 2, [first.url, second.url]
  end

  def test_a_request_is_not_built_without_a_timeout
    options = Trunkline::Options.new(Trunkline::Options::DEFAULTS)
    builder = Trunkline::RequestBuilder.new(options, nil, 1)
    assert_raises(Trunkline::MissingTimeout) { builder.build("GET", "http://a.test/", nil, :buffered) }
  end

  def test_another_mode_is_refused
    [true, false, nil, "streamed", :stream, BasicObject.new, 5].each do |mode|
      error = assert_raises(ArgumentError) { builder.build("GET", "http://a.test/", nil, mode) }
      assert_equal "the mode must be :buffered, :streamed or :upgrade", error.message
    end
  end

  # The C engine has a separate list of these options.
  def test_the_options_of_a_call_are_those_of_the_table
    own, lasting = (Trunkline::Options::NAMES | Trunkline::Options::CALL_ONLY).partition do |name|
      Trunkline::RequestBuilder.per_call?({ name => nil })
    end
    assert_equal Trunkline::Options::PER_CALL.sort, own.sort
    assert_includes lasting, :timeout
  end

  def test_unknown_options_of_a_call_suggest_the_nearest
    { jsn: "json:", formm: "form:", mulitpart: "multipart:", headres: "headers:" }.each do |typed, ours|
      assert_refused("the nearest are #{ours}") { request("POST", typed => 1) }
      assert_refused("the nearest are #{ours}") { Trunkline.post("http://a.test/", timeout: 5, typed => 1) }
    end
  end

  def test_a_raw_request_that_cannot_be_sent_is_not_shown
    error = assert_raises(Trunkline::InvalidRequest) do
      builder.raw("GET", Trunkline::URL.parse("http://a.test/"), "/x?token=geheim y", [], nil, 0, false)
    end
    refute_includes error.message, "geheim"
  end

  def test_methods_that_are_not_ascii_compatible_are_refused
    wide = "GET".encode("UTF-16LE")
    like_a_token = "\u4745".encode("UTF-16BE") # the bytes of "GE"
    [wide, wide.to_sym, like_a_token].each { |method| assert_refused("method") { request(method) } }
    [like_a_token, like_a_token.to_sym].each do |name|
      assert_refused("field name") { request(headers: { name => "1" }) }
    end
  end

  def test_of_a_param_that_is_given_as_a_string_and_as_a_symbol_the_later_is_sent
    given = request(client: { params: { a: 0, b: 0 } }, params: { "a" => 1, a: 2 })
    assert_equal "/?a=2&b=0", given.target
    assert_equal "/?a=1", request(client: { params: { "a" => 0 } }, params: { a: 1 }).target
    assert_equal "/?a=1&b=0", request(client: { params: { a: 0, b: 0 } }, params: { "a" => 2, a: 1 }).target
  end

  def test_the_same_bytes_in_another_encoding_are_another_host
    one = builder
    hosts = %w[UTF-8 ISO-8859-1 UTF-8].map do |encoding|
      one.build("GET", "http://b\xC3\xBCcher.test/".dup.force_encoding(encoding), {}, :buffered).uri.host
    end
    assert_equal %w[xn--bcher-kva.test xn--b14cher-xwa2143e.test xn--bcher-kva.test], hosts
    assert_refused("encoding") do
      one.build("GET", "http://b\xC3\xBCcher.test/".dup.force_encoding("US-ASCII"), {}, :buffered)
    end
  end

  def test_an_origin_that_is_refused_leaves_others_usable
    one = builder("http://a.test", proxy: "http://127.0.0.1:1", http: :h2)
    assert_equal "b.test", one.build("GET", "https://b.test/", {}, :buffered).uri.host
    assert_refused("http: :h2") { one.build("GET", "/", {}, :buffered) }
  end

  def test_params_of_other_kinds_are_refused
    [false, 1, "a=1"].each { |params| assert_refused("params") { request(params: params) } }
    assert_equal "/", request(params: nil).target
  end

  def test_the_target_is_a_frozen_utf8_text
    urls = ["http://a.test/b", "http://a.test/b".encode("US-ASCII"), "http://a.test/b".b, "http://a.test/b?"]
    urls.each do |url|
      target = request("GET", url).target
      assert_predicate target, :frozen?
      assert_equal Encoding::UTF_8, target.encoding
    end
  end

  def test_values_in_different_encodings_by_name
    fields = request(headers: [%w[X-A ü], ["x-a", "\xFC".b]])._fields_by_name
    assert_equal "ü, \xFC".b, fields["x-a"].b
  end
end
