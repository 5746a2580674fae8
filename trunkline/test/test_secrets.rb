# frozen_string_literal: true

require "net/http"
require "tempfile"
require_relative "test_helper"
require_relative "support/secret_leak_check"
require "faraday/adapter/trunkline"
require "trunkline/net_http"
require "trunkline/stubs"
require "trunkline/typhoeus"

# Every credential of these tests is a canary string, which must not occur in any text that Ruby or the library writes
# of an object.
class TestSecrets < TrunklineTest
  include SecretLeakCheck

  class Signer
    def initialize(token) = @token = token
    def sign(_request) = { "Authorization" => @token }
    def retry?(_response) = false
  end

  # Valid options of a client and of a call.
  OPTIONS = {
    bearer: { bearer: CANARY }, basic: { basic: ["user", CANARY] }, digest: { digest: ["user", CANARY] },
    auth: { auth: Signer.new(CANARY) }, authorization: { headers: { "Authorization" => "Bearer #{CANARY}" } },
    cookie: { headers: { cookie: "id=#{CANARY}" } }, own_field: { headers: { "X-Own" => CANARY } },
    credential_field: { headers: [["X-Mine", CANARY]], credential_headers: ["X-Mine"] },
    proxy: { proxy: "http://user:#{CANARY}@127.0.0.1:9", no_proxy: "127.0.0.1" },
    socks: { proxy: "socks5h://#{CANARY}:p@127.0.0.1:9", no_proxy: "127.0.0.1" },
    proxy_uri: { proxy: URI("https://user:#{CANARY}@127.0.0.1:9"), no_proxy: ["127.0.0.1"] },
    jar: { cookies: Trunkline::CookieJar.new.tap { |jar| jar.set("http://127.0.0.1/", "id=#{CANARY}; Path=/") } },
    cache: { cache: true, bearer: CANARY }, refreshed: { auth: Trunkline::BearerRefresh.new(CANARY) { nil } },
    params: { params: { token: CANARY } }, early_hints: { early_hints: Signer.new(CANARY).method(:sign) }
  }.freeze

  # Options of a call only.
  BODIES = {
    body: { body: CANARY }, list: { body: [CANARY] }, json: { json: { password: CANARY } },
    form: { form: { password: CANARY } }, multipart: { multipart: { file: Trunkline::Part.new(CANARY, filename: "a") } }
  }.freeze

  # Refused values: the forms in which a credential may be passed by mistake.
  KEY = "-----BEGIN PRIVATE KEY-----\n#{CANARY}\n-----END PRIVATE KEY-----\n".freeze
  REFUSED = {
    headers: ["Authorization: Bearer #{CANARY}", { "Authorization" => [CANARY, nil] }, [CANARY], [["A", "b", CANARY]],
              { "Authorization: #{CANARY}" => "" }, { "Authorization" => "#{CANARY}\n" }, { "A" => { CANARY => 1 } },
              CANARY.to_sym, { "Host" => "user:#{CANARY}@a.test" }, { "Content-Length" => CANARY }],
    params: ["token=#{CANARY}", [[CANARY]], [[:token, CANARY, 1]], CANARY.to_sym],
    bearer: [" #{CANARY}", "#{CANARY}\n", [CANARY], CANARY.to_sym],
    basic: [CANARY, [CANARY], "user:#{CANARY}", { user: CANARY }],
    digest: [CANARY, ["a", CANARY, 3], { user: CANARY }], auth: [CANARY, { token: CANARY }],
    cookies: [CANARY, { id: CANARY }, CANARY.to_sym],
    netrc: ["machine a.test login a password #{CANARY}", "machine a.test\n#{CANARY}\n", CANARY, 5],
    proxy: ["user:#{CANARY}@host:x", "http://user:#{CANARY}@host:1/path", "http://user:#{CANARY}",
            "http://user:a b@#{CANARY}",
            "ftp://user:#{CANARY}@host", "http://user:%@#{CANARY}", { url: CANARY }, ["http://user:#{CANARY}@host:1"],
            "socks5://user#{CANARY}@host:1", CANARY.to_sym, "//#{CANARY}@host:1", "http://#{CANARY} @host"],
    client_key: [KEY, KEY.delete("\n"), CANARY, "#{CANARY}\0", { key: CANARY }, OpenSSL::PKey::EC.generate("prime256v1")],
    client_cert: [KEY, "#{KEY}\0", [KEY]], ca_file: [KEY], ca_path: [KEY], ca_store: [KEY, { key: CANARY }],
    keylog: ["#{KEY}\0"], unix: ["#{KEY}\0", KEY * 10], tls_name: ["user:#{CANARY}@host"],
    connect_to: ["user:#{CANARY}@host:1", { "a.test" => "user:#{CANARY}@b.test" }], bind: ["user:#{CANARY}@host"],
    early_hints: [{ token: CANARY }], no_proxy: [{ token: CANARY }], timeout: [{ CANARY => [CANARY] }.values],
    body: [{ password: CANARY }, CANARY.to_sym, [{ password: CANARY }]], form: ["password=#{CANARY}", [[CANARY]]],
    json: [{ CANARY => Float::NAN }, [CANARY, Float::INFINITY]], multipart: [CANARY, { file: { CANARY => 1 } }]
  }.freeze

  URLS = ["http://user:#{CANARY}@host:port/", "user:#{CANARY}@host/", "ftp://user:#{CANARY}@host/", "http://user:#{CANARY}",
          "http://user:#{CANARY} x@host/", "http://user:a/#{CANARY}@host:x/", "http://host:x/?token=#{CANARY}",
          "http://host:x/#token=#{CANARY}", "http://user:a@#{CANARY}@host/", "http://user:#{CANARY}@host/\n",
          "http://us\xFFer:#{CANARY}@host/", ["http://user:#{CANARY}@host/"], { secret: CANARY }].freeze

  NO_BODY = "\r\nContent-Length: 0\r\n\r\n"
  # The response by the path of the request.
  FAILURES = {
    not_found: "HTTP/1.1 404 X#{NO_BODY}", no_json: "HTTP/1.1 200 X\r\nContent-Length: 1\r\n\r\n{",
    redirected: "HTTP/1.1 302 X\r\nLocation: ftp://x/#{NO_BODY}", broken: "HTTP/1.1\r\n\r\n",
    cut: "HTTP/1.1 200 X\r\nContent-Length: 5\r\n\r\nx",
    challenged: "HTTP/1.1 401 X\r\nWWW-Authenticate: Digest x=1#{NO_BODY}"
  }.freeze

  # Classes whose objects never hold a credential.
  HARMLESS = %w[
    Trunkline::Attempt Trunkline::AttemptValues::Placeholder Trunkline::Bulk Trunkline::Cache::Status
    Trunkline::Command Trunkline::Command::Arguments Trunkline::Command::Doctor Trunkline::Command::Doctor::Check
    Trunkline::Command::Printer Trunkline::Condition Trunkline::ConnectionInfo Trunkline::Download::Checksum
    Trunkline::Download::Part Trunkline::Download::PartialFile Trunkline::Download::PartialFile::Metadata
    Trunkline::Downloaded Trunkline::Engine::Config Trunkline::Engine::JSONBatches Trunkline::Engine::Multi
    Trunkline::Engine::Origin Trunkline::Engine::Pool Trunkline::Engine::Ruby::Attempts::Record
    Trunkline::Engine::Ruby::ConnectionSocket Trunkline::Engine::Ruby::HeadLimits
    Trunkline::Engine::Ruby::SocketOptions Trunkline::Engine::Ruby::StepLock Trunkline::Engine::Ruby::Timings
    Trunkline::Engine::Ruby::UsedConnection Trunkline::Engine::Switched
    Trunkline::Insight::Call
    Trunkline::Insight::Finding Trunkline::Insight::JobMiddleware Trunkline::Insight::NetHTTPHook::Opening
    Trunkline::Insight::Overview Trunkline::Insight::Report Trunkline::Instrument::Tally Trunkline::Lock
    Trunkline::NoProxy Trunkline::Options::Option Trunkline::Policy::Breaker::Circuit
    Trunkline::Policy::Breaker::External Trunkline::Policy::Breaker::Semian::Resource
    Trunkline::Policy::Breaker::Stoplight::Light Trunkline::Policy::Breaker::Window Trunkline::Policy::Budget
    Trunkline::Policy::Hedge::Quantile
    Trunkline::Policy::Rate::Fields::RateLimit Trunkline::Policy::Rate::Quota Trunkline::Policy::Rate::Schedule
    Trunkline::Policy::Rate::Window Trunkline::Policy::PolicyOptions Trunkline::Policy::PolicyOptions::Check
    Trunkline::Policy::PolicyOptions::Wrapped Trunkline::Policy::Signal Trunkline::Progress Trunkline::Progress::Reporter
    Trunkline::Redaction::JSON Trunkline::Scheduler::Flow::Pause Trunkline::ServerSentEvent Trunkline::ServerTiming
    Trunkline::Stats Trunkline::Stubs::Fault Trunkline::Timeouts Trunkline::Timings Trunkline::TransferProgress
    Trunkline::TransferProgress::Bar::Line Trunkline::TransferProgress::Bar::RubyBar
    Trunkline::TransferProgress::Bar::TTYBar Trunkline::TransferProgress::Reporter Trunkline::WebSocket::Deflate
    Typhoeus::Cache::Dalli Typhoeus::Cache::Rails Typhoeus::Cache::Redis Typhoeus::Response::Header
  ].freeze
  OURS = /\A(?:Trunkline|Typhoeus|Faraday::Adapter::Trunkline)\b(?!::(?:Limiter|Lab|XML))/

  # Ruby's own inspect shows all instance variables of an object.
  def test_no_class_is_forgotten
    classes = ObjectSpace.each_object(Class).select do |one|
      OURS.match?(one.name) && !(one <= Exception) && !one.include?(Trunkline::Redacted)
    end
    assert_empty classes.map(&:name) - HARMLESS
  end

  def test_assert_hidden_finds_a_secret
    ["", "u:", "us:", "user:"].each { |before| assert_match FORMS, ["#{before}#{CANARY}:x"].pack("m0") }
    found = assert_raises(Minitest::Assertion) { assert_hidden Struct.new(:secret).new(CANARY) }
    assert_includes found.message, "inspect"
  end

  OPTIONS.each do |name, options|
    define_method(:"test_a_client_with_#{name}") do
      server = serve
      http = client(server.url, **options)
      assert_hidden http, http.with(follow: 2), http.instance_variable_get(:@options), http.async, http.batch,
                    http.each(["/"])
      assert_exchanges(http, server, {})
    end

    next if options.key?(:no_proxy)

    define_method(:"test_a_call_with_#{name}") do
      server = serve
      assert_exchanges(client(server.url), server, options)
    end
  end

  BODIES.each do |name, options|
    define_method(:"test_a_call_with_#{name}") do
      server = serve
      assert_exchanges(client(server.url), server, options, verb: :post)
    end
  end

  def test_userinfo_in_a_url
    server = serve
    url = server.url.sub("//", "//user:#{CANARY}@")
    assert_hidden client(url), client.get(url), Trunkline::URL.parse(url)
    assert_exchanges(client(url), server, {})
    refused = "http://user:#{CANARY}@127.0.0.1:#{refused_port}/?token=#{CANARY}"
    assert_hidden raised { client.get(refused) }, raised { client(refused).get }, client.map([refused]).first
  end

  def test_logins_of_a_file
    Tempfile.create(["login", ".netrc"]) do |file|
      file.write("machine 127.0.0.1 login user password #{CANARY}")
      file.close
      server = serve
      http = client(server.url, netrc: file.path)
      assert_hidden http, http.instance_variable_get(:@options), Trunkline::Netrc.load(file.path)
      assert_exchanges(http, server, {})
      assert_includes server.requests.first["Authorization"], ["user:#{CANARY}"].pack("m0")
    end
  end

  REFUSED.each do |option, values|
    values.each_with_index do |value, index|
      define_method(:"test_a_refused_#{option}_#{index}") do
        http = client("http://127.0.0.1:9")
        [-> { Trunkline.new("http://a.test", timeout: 1, option => value) }, -> { http.post("/", option => value) },
         -> { http.with(option => value) }, -> { http.map([[:post, "/", { option => value }]]) },
         -> { http.async.post("/", option => value) }, -> { http.batch { |batch| batch.post("/", option => value) } }]
          .each do |call|
          error = raised(&call)
          assert_hidden error
          assert_kind_of ArgumentError, error
        end
      end
    end
  end

  def test_refused_urls
    http = client
    URLS.each do |url|
      [-> { http.get(url) }, -> { Trunkline.new(url, timeout: 1) }, -> { http.map([url]) }, -> { http.async.get(url) },
       -> { http.map([[:get, url]]) }, -> { Trunkline::PersistentHttpClient.get(url) },
       -> { Trunkline::PersistentHttpClient.get("http://127.0.0.1:9", proxy: url) }].each do |call|
        assert_hidden raised(&call)
      end
    end
  end

  def test_items_that_are_no_requests_hide_secrets
    http = client("http://127.0.0.1:9")
    [[:get, "/", { bearer: CANARY }, 4], { bearer: CANARY }, [:get, "/", "Bearer #{CANARY}"],
     { path: "/", headers: { A: CANARY } },
     CANARY.to_sym].each do |item|
      [-> { http.map([item]) }, -> { http.each([item].each) { nil } }, -> { http.batch { |batch| batch << item } },
       -> { http.get("/", item) }, -> { http.map(item) }].each { |call| assert_hidden raised(&call) }
    end
  end

  # Marshal writes an error without its credentials, and reads it again.
  def test_errors_can_be_written
    server = serve(response_bytes("no", status: "404 Not Found", "Set-Cookie" => "id=#{CANARY}"))
    response = client(server.url, bearer: CANARY).get("/a", params: { token: CANARY })
    error = raised { response.raise_for_status! }
    read = Marshal.load(Marshal.dump(error))
    assert_equal [error.class, error.message, error.sent, error.phase, error.elapsed, error.attempts, error.backtrace],
                 [read.class, read.message, read.sent, read.phase, read.elapsed, read.attempts, read.backtrace]
    assert_equal ["GET", "/a", nil, "[hidden]", "*/*"],
                 [read.request.method, read.request.uri.path, read.response, read.request.headers["Authorization"],
                  read.request.headers["Accept"]]
    assert_equal CANARY, error.request.headers["Authorization"].delete_prefix("Bearer "), "the error itself has it all"
  end

  def test_stubs
    Trunkline::Stubs.use do |stubs|
      stubs.post("https://user:#{CANARY}@a.test/?t=#{CANARY}", headers: { "X" => CANARY },
                                                               body: CANARY).answer(body: "ok")
      http = client("https://a.test", bearer: CANARY)
      response = http.post("/", body: CANARY, headers: { "X" => CANARY }, params: { t: CANARY })
      assert_hidden stubs, response, *stubs.calls, *stubs.instance_variable_get(:@stubs)
      missed = raised { http.post("/?t=#{CANARY}", body: "other") }
      assert_kind_of Trunkline::Stubs::Unexpected, missed
      assert_hidden missed
      stubs.get("https://a.test/?t=#{CANARY}", headers: { "X" => CANARY })
      unused = raised { stubs.verify }
      assert_hidden unused
      http.get("/?t=#{CANARY}", headers: { "X" => CANARY })
    end
  end

  def test_defaults
    seen = nil
    error = raised { Trunkline.configure { |defaults| (seen = defaults).basic = CANARY } }
    assert_hidden error, seen
  end

  def test_response_headers_hide_secrets
    response = client(serve(response_bytes("ok", "Set-Cookie" => "id=#{CANARY}", "X-Token" => CANARY,
                                                 "Location" => "/?token=#{CANARY}", "Server" => "s")).url).get("/")
    assert_hidden response, response.headers
    assert_includes response.headers.inspect, "Server: s"
    assert_equal "s", Marshal.load(Marshal.dump(response.headers))["server"]
  end

  # ---- Net::HTTP ----

  def test_a_key_that_net_http_cannot_have
    http = Net::HTTP.new("127.0.0.1", 9)
    http.use_ssl = true
    http.cert = OpenSSL::X509::Certificate.new(File.read(TestCA.certificate_file(:localhost)))
    [CANARY, KEY, { key: CANARY }].each do |key|
      http.key = key
      assert_hidden raised { Trunkline::Facades::NetHTTP::Options.client_options(http) }
    end
  end

  def test_a_persistent_client
    server = serve
    proxy = "http://user:#{CANARY}@#{server.address}"
    http = Trunkline::PersistentHttpClient.get(server.url, proxy: proxy)
    assert_hidden http, http.instance_variable_get(:@socket)
    request = Net::HTTP::Get.new("/", "Authorization" => CANARY)
    assert_equal "200", http.request(request).code
    server.stop
    assert_hidden raised { http.request(request) }
  ensure
    Trunkline::PersistentHttpClient.clear
  end

  private

  # Checks the objects of calls that succeed, and of calls that fail in each way.
  def assert_exchanges(http, server, options, verb: :get)
    response = http.public_send(verb, "/a", options)
    assert_hidden response, response.request, response.headers, response.request.headers
    assert_hidden response.request.body if options[:multipart]
    future = http.async.public_send(verb, "/a", options)
    assert_hidden future
    future.value!
    assert_hidden future, future.then(&:status)
    assert_hidden(*http.map([[verb, "/a", options]]))
    assert_batch(http, verb, options)
    assert_failures(http, options, verb)
    assert_operator server.requests.size, :>=, 4
  end

  def assert_batch(http, verb, options)
    batch = http.batch
    batch.public_send(verb, "/a", options)
    assert_hidden batch
    batch.run
    assert_hidden batch, *batch.results
  end

  def assert_failures(http, options, verb)
    failing = serve do |connection|
      connection << FAILURES.fetch(connection.requests.last.target[/\w+/].to_sym) if connection.read_request
    end
    FAILURES.each_key do |name|
      url = failing.url("/#{name}")
      error = raised { http.public_send(verb, url, follow: 3, **options).raise_for_status!.json && raise("no error") }
      assert_hidden error, *http.map([[verb, url, { follow: 3, **options }]])
    end
    assert_hidden raised { http.public_send(verb, "http://127.0.0.1:#{refused_port}/", options) }
  end
end
