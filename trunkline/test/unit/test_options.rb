# frozen_string_literal: true

require "pathname"
require "tempfile"
require_relative "../support/unit_test"
require "trunkline/options"

class TestOptions < UnitTest
  Options = Trunkline::Options

  def setup
    @options = Options.defaults.merge(timeout: 5)
  end

  def test_default_options
    assert_equal [false, :never, false, nil], [@options.follow, @options.replay, @options.expect, @options.early_hints]
    assert_equal [true, true, 0x0303], [@options.verify, @options.decode, @options.min_tls]
  end

  def test_a_change_makes_another
    changed = @options.merge(follow: 3)
    assert_equal [false, 3], [@options.follow, changed.follow]
    assert_predicate changed, :frozen?
    assert_same @options, @options.merge({})
  end

  def test_later_headers_replace_earlier_ones
    options = @options.merge(headers: { "A" => "1", "B" => "2" }).merge(headers: { "b" => "3", "C" => nil })
    assert_equal [%w[A 1], %w[b 3], ["C", nil]], options.headers
  end

  def test_params_are_added
    assert_equal({ a: 1, b: 3 }, @options.merge(params: { a: 1, b: 2 }).merge(params: { b: 3 }).params)
    assert_equal [[:a, 1], [:a, 2]], @options.merge(params: { a: 1 }).merge(params: [[:a, 2]]).params
    assert_equal({ a: 1 }, @options.merge(params: { a: 1 }).merge(params: nil).params)
  end

  def test_a_later_kind_of_authorization_replaces_the_one_before
    options = @options.merge(bearer: "a").merge(basic: %w[user password])
    assert_equal [nil, %w[user password]], [options.bearer, options.basic]
    options = options.merge(bearer: "b")
    assert_equal ["b", nil], [options.bearer, options.basic]
    assert_refused("bearer:", "basic:") { @options.merge(bearer: "a", basic: %w[b c]) }
  end

  def test_connect_to
    assert_equal ["127.0.0.1", 8443], @options.merge(connect_to: "127.0.0.1:8443").connect_to
    assert_equal ["::1", nil], @options.merge(connect_to: "[::1]").connect_to
    assert_equal({ "a.test:443" => ["b.test", 1] },
                 @options.merge(connect_to: { "A.test:443" => "B.test:1" }).connect_to)
  end

  def test_egress
    public_only = { allow: [], deny: [], ports: [], unix: false, proxy: false }
    [:public, {}].each { |value| assert_equal public_only, @options.merge(egress: value).egress }
    [nil, false].each { |value| assert_nil @options.merge(egress: :public).merge(egress: value).egress }
    rule = @options.merge(egress: { allow: ["10.1.0.0/16", "::1", IPAddr.new("10.2.3.4/16")], ports: [80] }).egress
    assert_equal public_only.merge(allow: ["10.1.0.0/16", "::1/128", "10.2.0.0/16"], ports: [80]), rule
    assert_predicate rule, :frozen?
  end

  def test_an_egress_that_is_none
    { "public" => "egress:", { alow: [] } => "did you mean allow:", { ports: [0] } => "ports:", { unix: 1 } => "unix:",
      { proxy: nil } => "proxy:", { ports: 80 } => "ports:", { allow: "10.0.0.0/8" } => "Array" }
      .each { |value, words| assert_refused(words) { @options.merge(egress: value) } }
    ["api.test", "10.0.0.1/8", "10.0.0.0/33", "fe80::1%eth0", "", nil, 5].each do |network|
      %i[allow deny].each { |key| assert_refused("egress: #{key}:") { @options.merge(egress: { key => [network] }) } }
    end
  end

  def test_busy_polling_is_opt_in
    assert_equal 0.0, @options.busy_poll
    [nil, false, 0].each { |value| assert_equal 0.0, @options.merge(busy_poll: value).busy_poll }
    assert_in_delta 0.00006, @options.merge(busy_poll: true).busy_poll, 1e-9
    assert_in_delta 0.0005, @options.merge(busy_poll: 0.0005).busy_poll, 1e-9
  end

  def test_one_file_may_hold_certificate_and_key
    Tempfile.create do |file|
      options = @options.merge(client_cert: file.path)
      assert_equal [file.path] * 2, [options.client_cert, options.client_key]
      assert_refused("client_key", "client_cert") { @options.merge(client_key: file.path) }
    end
  end

  def test_paths_may_be_pathnames
    assert_equal "/tmp/x.sock", @options.merge(unix: Pathname("/tmp/x.sock")).unix
  end

  BAD = {
    headers: ["x", 5, { "A\n" => "1" }], params: [5, "a=1"], follow: [0, -1, 1001, 1.5, "3"],
    redirect_body_to_http: [nil, 1, "yes"],
    credential_headers: ["X-A", [1], ["a b"]], replay: [true, :always, "safe", nil],
    expect: [0, -1, true, "1", { wait: 0 }, { above: -1 }, { over: 1 }, { above: 1.5 }, { wait: nil }],
    decode: [nil, 1, "true"], early_hints: [5, "x"], verify: [nil, :none, 0],
    ca_file: ["/nowhere.pem", "/tmp", 5, "a\0b"],
    ca_path: ["/nowhere", __FILE__, 5], client_cert: ["/nowhere.pem", 5], min_tls: ["1.1", 1.2, nil, "TLSv1.2"],
    max_tls: ["1.1", 1.3, :tls], ciphers: [5, "", "A\nB", %w[A B]], ciphersuites: [5, "", "AES128-SHA"],
    no_proxy: [5, [5], true],
    verify_depth: [-1, 1.5, "1", 101], tls_name: [5, "", "a:443", "https://a/", ".a.test", "a b"],
    keylog: ["", 5],
    connect_to: [5, "a b", "[::g]", "a:b:c", "a:0", "a:99999", "http://a/", { "a" => 5 }, { 5 => "a" }, "u@a:1"],
    unix: ["", 5, "/#{"x" * 108}"], max_connections_per_host: [0, -1, 1.5, "5", nil], max_idle: [-1, "5"],
    idle_timeout: [0, nil, "5"], max_age: [0, -1, "5"], max_body_bytes: [0, -1, 1.5], max_decode_ratio: [0, 1.5],
    max_header_bytes: [0, nil, "5"],
    max_headers: [0, nil], busy_poll: [-1, 0.002, "1", :yes], timeout: [0, "5", { total: -1 }, { nope: 1 }]
  }.freeze

  BAD.each do |name, values|
    values.each do |value|
      define_method(:"test_#{name}_#{value.inspect}_is_refused") do
        assert_refused(name.to_s) { @options.merge(name => value) }
      end
    end
  end

  # Text with invalid bytes, and text in an encoding that regular expressions cannot match.
  [%w[broken] << "a\xFF", %w[wide] << "a".encode("UTF-16LE")].each do |kind, text|
    define_method(:"test_text_that_is_#{kind}_is_refused_as_any_other") do
      { bearer: text, app_name: text, ciphers: text, tls_name: text, bind: text, proxy: text, ca_file: text,
        no_proxy: [text], client_cert: text, client_key: [text], retry: { text => 1 }, cache: [text],
        auth: text }.each do |name, value|
        assert_refused(name.to_s) { @options.merge(name => value) }
      end
    end
  end

  def test_the_message_names_option_value_and_what_is_allowed
    assert_refused("replay", ":always", ":never or :safe") { @options.merge(replay: :always) }
    assert_refused("max_headers", "0", "from 1 to 65536") { @options.merge(max_headers: 0) }
  end

  def test_credentials_are_in_no_refusal
    { bearer: ["geheim wort", "geheim\n", ["geheim"]],
      basic: ["geheim", ["geheim"], ["a:geheim", "b"], ["a", "geheim\r\n"], %w[a b geheim]],
      headers: [{ "Authorization" => "geheim\n" }] }.each do |name, values|
      values.each do |value|
        refute_includes assert_refused(name.to_s) { @options.merge(name => value) }.message, "geheim"
      end
    end
  end

  def test_unknown_options_are_named_with_the_nearest
    assert_refused(":folow", "follow:") { @options.merge(folow: 3) }
    assert_refused(":max_idel", "max_idle:") { @options.merge(max_idel: 3) }
    refused = assert_refused(":zzzz", "docs/options.md") { @options.merge(zzzz: 3) }
    assert_equal 3, refused.message[/the nearest are (.*?);/, 1].split(", ").size
    assert_refused('"timeout"', "Symbol: timeout:") { @options.merge("timeout" => 3) }
    assert_refused("class Integer") { @options.merge(5 => 3) }
  end

  def test_option_names_of_other_clients_suggest_the_name_here
    { query: "params:", ssl_verify: "verify:", open_timeout: "connect:", verify_ssl: "verify:",
      allow_redirects: "follow:", data: "form:", files: "multipart:", basic_auth: "basic:", cert: "client_cert:",
      threads: "concurrency:", to: "download", url: "client.get(", path: "client.get(", verbose: "log: :headers",
      "followlocation" => "follow:" }.each do |theirs, ours|
      assert_refused("unknown option #{theirs.inspect}; instead: ", ours) { @options.merge(theirs => "secret") }
    end
    assert_refused("basic: [user, password]") { @options.merge(auth: %w[user secret]) }
    assert_refused("bearer: token") { @options.merge(auth: "secret") }
    assert_refused("cookies: must be true", '"Cookie" => "name=value"') { @options.merge(cookies: { a: "secret" }) }
    assert_refused("the name here is connect:") { @options.merge(timeout: { open: 3 }) }
  end

  def test_suggested_options_exist
    texts = Options::Unknown::SYNONYMS.each_value.map { |text| text.gsub(/"[^"]*"/, "") }
    mentioned = texts.flat_map { |text| text.scan(/\b([a-z_]+):/).flatten }
    assert_includes mentioned, "basic"
    known = Options::TABLE.keys + Trunkline::Timeouts::NAMES
    assert_empty mentioned.uniq - known.map(&:to_s) - %w[name concurrency to]
    assert_empty Options::Unknown::SYNONYMS.keys & Options::TABLE.keys
  end

  def test_follow_true_has_a_number
    assert_equal [10, false, false], [true, false, nil].map { |value| @options.merge(follow: value).follow }
  end

  def test_names_of_params_are_equal_as_symbol_and_string
    assert_equal({ "a" => 2, "b" => 3 }, @options.merge(params: { a: 1, "b" => 3, "a" => 2 }).params)
  end

  def test_options_of_a_call_are_refused_for_a_client
    Options::CALL_ONLY.each { |name| assert_refused("#{name}: is an option of a call") { @options.merge(name => "x") } }
  end

  def test_credentials_are_not_shown
    options = @options.merge(bearer: "geheim", headers: { "X-Api-Key" => "geheim", "X-Own" => "geheim" },
                             params: { key: "geheim" })
    refute_includes options.inspect, "geheim"
    refute_includes @options.merge(basic: %w[user geheim]).inspect, "geheim"
  end

  def test_the_engine_gets_every_key
    options = @options.merge(expect: 1, replay: :safe, max_body_bytes: 10, timeout: { connect: 1, total: 2 })
    engine = options.to_engine(7)
    assert_equal({ queue: nil, resolve: nil, connect: 1.0, tls: nil, write: nil, first_byte: nil, read: nil },
                 engine[:timeouts])
    assert_equal [2.0, 1.0, true, 10, 10, 100, 7],
                 engine.values_at(:total, :expect, :replay_safe, :max_body_bytes, :max_streamed_bytes,
                                  :max_decode_ratio, :owner)
    assert_equal({ verify: true, verify_hostname: true, ca_file: nil, ca_path: nil, ca_store: nil, client_cert: nil,
                   client_key: nil, client_key_password: nil, verify_depth: nil, min_version: 0x0303, max_version: 0,
                   ciphers: nil, ciphersuites: nil, common_name: false },
                 engine[:tls].except(:keylog))
    assert_equal({ address: nil, interface: nil, keepalive_idle: 30, keepalive_interval: 10, user_timeout: 0 },
                 engine[:sockets])
    assert_equal %i[busy_poll decode egress expect http idle_timeout lenient max_age max_body_bytes
                    max_connections_per_host max_decode_ratio max_header_bytes max_headers max_streamed_bytes owner
                    replay_safe sockets timeouts tls total], engine.keys.sort
  end

  def test_engine_options_are_not_built_without_a_timeout
    assert_raises(Trunkline::MissingTimeout) { Options.defaults.to_engine(1) }
  end
end
