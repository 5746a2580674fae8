# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/call_styles"
require_relative "../../trunkline-lab/test/support/browser" # the test of the lab's page uses it, too
require "json"
require "tmpdir"
require "zlib"

# Trunkline.record
class TestRecording < TrunklineTest
  include CallStyles

  Browser = Trunkline::Lab::Browser

  ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: id=SECRET; Path=/\r\n" \
           "Content-Length: 18\r\n\r\n{\"token\":\"SECRET\"}"

  # The members that HAR 1.2 requires, and the classes of their values.
  REQUIRED = {
    log: { version: String, creator: Hash, entries: Array },
    creator: { name: String, version: String },
    page: { startedDateTime: String, id: String, title: String, pageTimings: Hash },
    entry: { startedDateTime: String, time: Numeric, request: Hash, response: Hash, cache: Hash, timings: Hash },
    request: { method: String, url: String, httpVersion: String, cookies: Array, headers: Array, queryString: Array,
               headersSize: Integer, bodySize: Integer },
    response: { status: Integer, statusText: String, httpVersion: String, cookies: Array, headers: Array, content: Hash,
                redirectURL: String, headersSize: Integer, bodySize: Integer },
    content: { size: Integer, mimeType: String }, pair: { name: String, value: String },
    timings: { send: Numeric, wait: Numeric, receive: Numeric }, postData: { mimeType: String, text: String }
  }.freeze

  def setup
    super
    @folder = Dir.mktmpdir
    @path = File.join(@folder, "calls.har")
  end

  def teardown
    super
    FileUtils.rm_rf(@folder)
  end

  # @return [Array<Hash>] the entries of the file, after a check of its structure
  def entries
    log = JSON.parse(File.read(@path), symbolize_names: true).fetch(:log)
    check(:log, log)
    check(:creator, log[:creator])
    log[:pages].each { |page| check(:page, page) }
    log[:entries].each { |entry| check_entry(entry, log[:pages].map { |page| page[:id] }) }
  end

  def check(kind, object)
    REQUIRED.fetch(kind).each { |name, type| assert_kind_of type, object[name], "#{kind} #{name}" }
  end

  def check_entry(entry, pages)
    check(:entry, entry)
    %i[request response timings].each { |kind| check(kind, entry[kind]) }
    check(:content, entry[:response][:content])
    check(:postData, entry[:request][:postData]) if entry[:request][:postData]
    request, response = entry.values_at(:request, :response)
    [*request.values_at(:headers, :cookies, :queryString), *response.values_at(:headers, :cookies)].flatten
      .each { |pair| check(:pair, pair) }
    assert_includes pages, entry[:pageref]
    assert_equal entry[:startedDateTime], Time.iso8601(entry[:startedDateTime]).iso8601(3)
    phases = entry[:timings].except(:ssl, :_gvl).values.reject(&:negative?)
    assert_in_delta phases.sum, entry[:time], 0.01
  end

  def test_every_call_style_is_recorded
    each_call_style do |style, call|
      server = serve(ANSWER)
      Trunkline.record(@path) { call.call(client(server.url), :get, "/a?b=c%20d") }
      entry = entries.first
      assert_equal 1, entries.size, style
      assert_equal ["GET", server.url("/a?b=c%20d"), "HTTP/1.1", [{ name: "b", value: "c d" }]],
                   entry[:request].values_at(:method, :url, :httpVersion, :queryString), style
      assert_equal [200, "OK", "HTTP/1.1"], entry[:response].values_at(:status, :statusText, :httpVersion), style
      assert_equal "127.0.0.1", entry[:serverIPAddress], style
    end
  end

  def test_hidden_values_are_not_in_the_file
    server = serve(ANSWER)
    Trunkline.record(@path) do
      client(server.url, basic: %w[Ada SECRET], redact: ["pin"])
        .post("/?api_key=SECRET", json: { pin: "SECRET", a: 1 }, headers: { cookie: "id=SECRET; b=SECRET" })
    end
    refute_includes File.read(@path), "SECRET"
    entry = entries.first
    assert_equal '{"pin":"[hidden]","a":1}', entry[:request][:postData][:text]
    assert_equal '{"token":"[hidden]"}', entry[:response][:content][:text]
    assert_equal %w[id b], entry[:request][:cookies].map { |cookie| cookie[:name] }
    assert_equal %w[id], entry[:response][:cookies].map { |cookie| cookie[:name] }
    assert_equal 0o600, File.stat(@path).mode & 0o777
  end

  def test_each_attempt_is_an_entry
    server = serve_sequence("/" => ["HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
                                    "HTTP/1.1 302 Found\r\nLocation: /next?token=SECRET\r\nContent-Length: 0\r\n\r\n"],
                            "/next?token=SECRET" => [ANSWER])
    Trunkline.record(@path) { client(server.url, retry: true, follow: 3).get("/") }
    assert_equal [503, 302, 200], entries.map { |entry| entry[:response][:status] }
    assert_equal "/next?token=[hidden]", entries[1][:response][:redirectURL]
  ensure
    Trunkline::Policy::State.clear
  end

  def test_errors_and_what_a_block_raises
    port = refused_port
    error = assert_raises(Trunkline::ConnectError) do
      Trunkline.record(@path) { client("http://127.0.0.1:#{port}").get("/") }
    end
    entry = entries.first
    assert_equal [0, "Trunkline::ConnectError: #{error.message}"], entry[:response].values_at(:status, :_error)
  end

  def test_bodies
    server = serve("HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n#{"x" * 70_000}")
    Trunkline.record(@path) do
      client(server.url).post("/", body: "\xFF\0".b)
      client(server.url).post("/", body: StringIO.new("x"), stream: true).close
    end
    whole, streamed = entries
    assert_equal 65_536, whole[:response][:content][:text].size
    assert_equal [70_000, "the first 65536 of 70000 bytes"], whole[:response][:content].values_at(:size, :comment)
    assert_equal "2 bytes that are no text", whole[:request][:postData][:comment]
    assert_equal "streamed: not kept", streamed[:response][:content][:comment]
    assert_equal "streamed: not kept", streamed[:request][:postData][:comment]
  end

  # An image without a zero byte.
  def test_bodies_that_are_no_text
    server = serve("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\n\x89PNG".b)
    Trunkline.record(@path) { client(server.url).get("/") }
    assert_equal ["", "4 bytes that are no text"], entries.first[:response][:content].values_at(:text, :comment)
  end

  def test_sizes_are_those_before_decoding
    coded = Zlib.gzip("hello" * 100)
    server = serve_sequence(
      "/gzip" => ["HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: #{coded.bytesize}\r\n\r\n".b + coded],
      "/chunked" => [chunked_response("hello", "world")], "/nothing" => ["HTTP/1.1 204 No Content\r\n\r\n"],
      "/head" => ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"]
    )
    Trunkline.record(@path) do
      http = client(server.url)
      %w[/gzip /chunked /nothing].each { |path| http.get(path) }
      http.head("/head")
    end
    sizes = entries.map { |entry| [entry[:response][:bodySize], entry[:response][:content][:size]] }
    assert_equal [[coded.bytesize, 500], [10, 10], [0, 0], [0, 0]], sizes
  end

  # Imports the file as DevTools do when they open it.
  DEVTOOLS = "devtools://devtools/bundled"
  SHOWN = <<~JS.freeze
    import("#{DEVTOOLS}/models/har/har.js").then(({ HARFormat, Importer }) => {
      const log = new HARFormat.HARRoot(%<har>s).log;
      window.shown = Importer.Importer.requestsFromHARLog(log).map((one) => [
        one.requestMethod, one.url(), one.statusCode, one.resourceType().name(), one.transferSize, one.remoteAddress()]);
    }).catch((error) => { window.shown = String(error); });
    null
  JS

  def test_chromium_opens_it
    skip "no Chromium here (bin/setup installs it where there is a package of it)" unless Browser.program
    server = serve_sequence("/" => [response_bytes("hello", "Content-Type" => "text/html")], "/closed" => [nil])
    Trunkline.record(@path) do
      http = client(server.url)
      http.post("/", json: { a: 1 })
      assert_raises(Trunkline::ConnectionClosed) { http.get("/closed") }
    end
    seen = Browser.open do |browser|
      browser.go("#{DEVTOOLS}/devtools_app.html", width: 1000)
      browser.js(format(SHOWN, har: File.read(@path)))
      eventually { browser.js("window.shown") }
    end
    assert_equal [["POST", server.url, 200, "fetch", 5, server.address],
                  ["GET", server.url("/closed"), 0, "fetch", 0]], seen.each { |one| one.pop if one[2].zero? }
  end

  def test_the_file_is_replaced_when_the_block_is_left
    File.write(@path, "before")
    server = serve(ANSWER)
    assert_equal :result, (Trunkline.record(@path) do
      client(server.url).get("/")
      assert_equal "before", File.read(@path)
      :result
    end)
    client(server.url).get("/")
    assert_equal 1, entries.size
    assert_equal ["calls.har"], Dir.children(@folder)
    Trunkline.record(@path) { nil }
    assert_empty entries
  end

  def test_an_unwritable_path_is_refused_before_recording
    [@folder, File.join(@folder, "none", "a.har")].each do |path|
      assert_raises(Trunkline::InvalidRequest) { Trunkline.record(path) { flunk } }
    end
    assert_raises(Trunkline::InvalidRequest) { Trunkline.record(@path) }
  end
end
