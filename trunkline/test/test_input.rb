# frozen_string_literal: true

require_relative "test_helper"
require "pathname"

# Bad input is refused before anything is sent, by an error that names the argument, the value and the allowed values.
class TestInput < TrunklineTest
  stressable

  def setup
    super
    @server = serve
    @http = client(@server.url)
  end

  def teardown
    assert_empty @server.requests, "something was sent"
    assert_equal 0, @server.connection_count
    super
  end

  BAD_URLS = [
    "", "/path-alone", "example.test", "//example.test/", "http://", "http:///path", "http://:80/",
    "ftp://example.test/", "file:///etc/passwd", "http://exa mple.test/", "http://example.test:0/", "http://example.test:65536/",
    "http://example.test:x/", "http://[::1/", "http://[zz]/", "http://example.test/\r\nX: 1", "http://example.test/\0",
    "http://exam\nple.test/", "http://#{"a" * 64}.test/", "http://#{"a." * 130}test/",
    "http://ex%00mple.test/", "http://a_b%0d%0a.test/", "http://-/\x7F", "javascript:alert(1)"
  ].freeze

  BAD_URLS.each do |url|
    define_method(:"test_url_#{url[0, 40].inspect}") do
      error = assert_raises(Trunkline::InvalidRequest) { Trunkline.get(url, timeout: 1) }
      assert_match(/url|host|port/i, error.message)
      refute_match(/[\r\n\0]/, error.message)
    end
  end

  [nil, 1, :symbol, Object.new, ["http://x/"]].each do |url|
    define_method(:"test_url_of_class_#{url.class}") do
      assert_raises(Trunkline::InvalidRequest, ArgumentError) { Trunkline.get(url, timeout: 1) }
    end
  end

  ["GE T", "GET\r\nX: 1", "", "G\0T", "GÉT", "GET ", nil, 1].each do |verb|
    define_method(:"test_method_#{verb.inspect}") do
      error = assert_raises(Trunkline::InvalidRequest) { @http.request(verb, "/") }
      assert_match(/method/, error.message)
    end
  end

  BAD_NAMES = ["", "X Y", "X:", "X\r\nY", "X\0", "Xü", "X\n", "(X)", 1, nil].freeze
  BAD_VALUES = ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "a\x01b", "a\x7Fb", Object.new, { a: 1 }].freeze

  BAD_NAMES.each do |name|
    define_method(:"test_header_name_#{name.inspect}") do
      error = assert_raises(Trunkline::InvalidRequest) { @http.get("/", headers: { name => "1" }) }
      assert_match(/header/i, error.message)
    end
  end

  BAD_VALUES.each_with_index do |value, index|
    define_method(:"test_header_value_#{index}") do
      error = assert_raises(Trunkline::InvalidRequest) { @http.get("/", headers: { "X-Name" => value }) }
      assert_match(/X-Name/, error.message)
      refute_match(/Evil/, error.message, "a value may be a secret")
    end

    define_method(:"test_header_value_of_a_client_#{index}") do
      assert_raises(Trunkline::InvalidRequest) { client(@server.url, headers: { "X-Name" => value }) }
    end
  end

  def test_framing_headers_are_the_clients
    %w[Transfer-Encoding transfer-encoding].each do |name|
      assert_raises(Trunkline::InvalidRequest) { @http.post("/", body: "x", headers: { name => "chunked" }) }
    end
    assert_raises(Trunkline::InvalidRequest) { @http.post("/", body: "xyz", headers: { "Content-Length" => "2" }) }
    assert_raises(Trunkline::InvalidRequest) { @http.post("/", body: ["x"].each, headers: { "Content-Length" => "-2" }) }
    assert_raises(Trunkline::InvalidRequest) { @http.post("/", body: ["x"].each, headers: { "Content-Length" => "2a" }) }
  end

  def test_two_hosts
    assert_raises(Trunkline::InvalidRequest) { @http.get("/", headers: { "Host" => %w[a.test b.test] }) }
  end

  # option => values that are not allowed
  BAD_OPTIONS = {
    timeout: [0, -1, "5", :five, Float::NAN, Float::INFINITY, { connect: 0 }, { connect: "1" }, { sleep: 1 }, [1]],
    follow: [-1, "5", 1.5, 1001],
    replay: [:always, true, "safe"],
    expect: [0, -1, "1"],
    decode: [1, "yes"],
    verify: [1, "no", :none],
    ca_file: ["/no/such/file.pem", 1, ""],
    ca_path: ["/no/such/directory", __FILE__, 1],
    client_cert: ["/no/such/file.pem", 1],
    client_key: ["/no/such/file.key", 1],
    min_tls: ["1.1", "1.0", "SSLv3", 1.2, :tls],
    connect_to: ["127.0.0.1:99999", "http://x/", 80, { "a.test:80" => 80 }, ["a"]],
    unix: [1, "", "/#{"x" * 200}"],
    max_connections_per_host: [0, -1, "1", 1.5],
    max_idle: [-1, "1"],
    idle_timeout: [-1, "1", Float::NAN],
    max_age: [0, -1, "1", Float::NAN],
    busy_poll: [-1, "1", 0.002, Float::NAN, :yes],
    max_body_bytes: [-1, "1", 1.5],
    max_decode_ratio: [-1, "1", 0],
    max_header_bytes: [-1, "1", 0],
    max_headers: [-1, "1", 0],
    headers: [1, "X: 1", [1]],
    params: [1, "a=1"],
    bearer: [1, "a b\r\n", "a\0"],
    basic: ["user:pass", ["user"], [1, 2], ["us:er", "x"], ["a\r\n", "b"]],
    credential_headers: ["X-Name", ["a b"], [1]],
    early_hints: [1, "x"]
  }.freeze

  BAD_OPTIONS.each do |option, values|
    values.each_with_index do |value, index|
      define_method(:"test_#{option}_#{index}_of_a_client") do
        error = assert_raises(Trunkline::InvalidRequest) { client(@server.url, option => value) }
        assert_match(/#{option}/, error.message)
        assert_operator error.message.size, :<, 400
      end

      define_method(:"test_#{option}_#{index}_of_a_call") do
        error = assert_raises(ArgumentError) { @http.get("/", option => value) }
        assert_match(/#{option}/, error.message)
      end
    end
  end

  def test_an_unknown_option_suggests_the_known_one
    [-> { client(@server.url, timeouts: 1) }, -> { @http.get("/", timeouts: 1) }].each do |call|
      error = assert_raises(ArgumentError, &call)
      assert_match(/timeouts/, error.message)
    end
  end

  def test_options_of_a_call_are_none_of_a_client
    %i[body json form multipart stream].each do |option|
      error = assert_raises(ArgumentError) { client(@server.url, option => "x") }
      assert_match(/#{option}/, error.message)
    end
  end

  def test_json_that_cannot_be_written
    endless = []
    endless << endless
    [Float::NAN, "\xFF", endless].each do |value|
      error = assert_raises(Trunkline::InvalidRequest) { @http.post("/", json: { secret: value }) }
      assert_nil error.cause, "it would have the whole of what was given"
    end
  end

  def test_body_of_a_wrong_class
    [1, :symbol, Object.new].each do |body|
      error = assert_raises(Trunkline::InvalidRequest) { @http.post("/", body: body) }
      assert_match(/body/, error.message)
    end
  end

  def test_form_and_multipart_of_a_wrong_class
    assert_raises(Trunkline::InvalidRequest) { @http.post("/", form: 1) }
    assert_raises(Trunkline::InvalidRequest) { @http.post("/", multipart: 1) }
    assert_raises(Trunkline::InvalidRequest) { @http.post("/", multipart: { "a" => Object.new }) }
  end

  def test_a_multipart_file_that_is_not_there
    assert_raises(Trunkline::InvalidRequest, SystemCallError) do
      @http.post("/", multipart: { "a" => Pathname("/no/such/file") })
    end
  end

  def test_a_client_key_without_certificate
    error = assert_raises(Trunkline::InvalidRequest) { client(@server.url, client_key: TestCA.key_file(:client)) }
    assert_match(/client_key/, error.message)
  end

  def test_bearer_and_basic_at_once
    assert_raises(Trunkline::InvalidRequest) { @http.get("/", bearer: "x", basic: %w[a b]) }
  end

  def test_the_secret_is_not_shown
    [{ bearer: "gehe\r\nim" }, { basic: ["geheim"] }, { basic: ["x", "gehe\0im"] }].each do |options|
      error = assert_raises(Trunkline::InvalidRequest) { @http.get("/", **options) }
      refute_match(/gehe/, error.message)
    end
    error = assert_raises(Trunkline::InvalidRequest) { Trunkline.get("http://user:geheim@exa mple.test/", timeout: 1) }
    refute_match(/geheim/, error.message)
  end

  def test_a_long_value_is_cut
    error = assert_raises(Trunkline::InvalidRequest) { Trunkline.get("ftp://#{"x" * 10_000}", timeout: 1) }
    assert_operator error.message.size, :<, 300
  end
end
