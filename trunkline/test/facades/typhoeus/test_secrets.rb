# frozen_string_literal: true

require_relative "support"
require_relative "../../support/secret_leak_check"

# The printed and the marshalled form of Typhoeus objects must contain no credential.
class TestTyphoeusSecrets < TyphoeusTest
  include SecretLeakCheck

  KEY = "-----BEGIN PRIVATE KEY-----\n#{CANARY}\n-----END PRIVATE KEY-----\n".freeze

  OPTIONS = {
    userpwd: { userpwd: "user:#{CANARY}" }, digest: { userpwd: "user:#{CANARY}", httpauth: :digest },
    any: { username: "user", password: CANARY, httpauth: :any }, bearer: { xoauth2_bearer: CANARY },
    headers: { headers: { "Authorization" => "Bearer #{CANARY}", "X-Own" => CANARY } },
    cookie: { cookie: "id=#{CANARY}" },
    proxy: { proxy: "http://127.0.0.1:9", proxyuserpwd: "user:#{CANARY}", noproxy: "*" },
    proxy_url: { proxy: "http://user:#{CANARY}@127.0.0.1:9", noproxy: "*" },
    proxy_user: { proxy: "http://127.0.0.1:9", proxyusername: "user", proxypassword: CANARY, noproxy: "*" },
    params: { params: { access_token: CANARY } }, form: { method: :post, body: { password: CANARY } },
    key_password: { keypasswd: CANARY }, cookielist: { cookielist: "Set-Cookie: id=#{CANARY}; domain=127.0.0.1" }
  }.freeze

  OPTIONS.each do |name, options|
    define_method(:"test_requests_with_#{name}") do
      server = serve(response_bytes("ok"))
      made = request("#{server.url}a", **options)
      assert_hidden made
      assert_hidden made.run, made
      carrier = hydra
      carrier.queue(queued = request("#{server.url}a", **options))
      assert_hidden carrier
      carrier.run
      assert_hidden carrier, queued, queued.response
      assert_failures(options)
    end
  end

  def test_userinfo_in_a_url
    server = serve
    made = request(server.url.sub("//", "//user:#{CANARY}@"))
    assert_hidden made, made.run
    failed = request("http://user:#{CANARY}@127.0.0.1:#{refused_port}/?a=1")
    assert_hidden failed.run, failed, failed.response.error
    refute_match FORMS, failed.response.effective_url
    assert_hidden request("http://user:#{CANARY}@host:port/").run
  end

  def test_refused_options_hide_secrets
    [{ sslkey: KEY }, { sslkey: KEY, sslcert: KEY, keypasswd: CANARY }, { sslcert: KEY },
     { proxy: "user:#{CANARY}@host:1" },
     { proxy: "http://user:#{CANARY}" }, { netrc: "machine a.test password #{CANARY}" },
     { netrc: true, netrc_file: "#{CANARY} x" },
     { proxyauth: KEY }, { headers: { "A: #{CANARY}" => "1" } }, { userpwd: "user:#{CANARY}\n" },
     { xoauth2_bearer: "#{CANARY} x" }, { cookie: "#{CANARY}\n" }].each do |options|
      assert_hidden raised { raise request("http://127.0.0.1:#{refused_port}/", **options).run.error }
    end
  end

  def test_blocked_and_stubbed_requests_hide_secrets
    Typhoeus::Config.block_connection = true
    assert_hidden raised { request("http://user:#{CANARY}@a.test/?token=#{CANARY}", userpwd: "user:#{CANARY}").run }
    stub = Typhoeus.stub("http://a.test/?token=#{CANARY}", headers: { "X" => CANARY })
    assert_hidden stub, raised { request("http://a.test/?token=#{CANARY}", headers: { "X" => CANARY }).run }
  end

  def test_verbose_output
    server = serve(response_bytes("ok", "Set-Cookie" => "id=#{CANARY}", "X-Own" => CANARY))
    output = StringIO.new
    kept = $stderr
    $stderr = output
    request("#{server.url}?token=#{CANARY}", verbose: true, userpwd: "user:#{CANARY}",
                                             headers: { "X-Own" => CANARY }).run
    $stderr = kept
    refute_match FORMS, output.string
    assert_match(%r{^> GET /\?\[hidden\] HTTP/1\.1$}, output.string)
    assert_match(/^< HTTP.1.1 200 OK$.*^< Content-Length: 2$/m, output.string)
  ensure
    $stderr = kept
  end

  def test_response_headers_hide_secrets
    response = request(serve(response_bytes("ok", "Set-Cookie" => "id=#{CANARY}", "Server" => "s")).url).run
    headers = response.headers
    [headers.inspect, headers.to_s, headers.pretty_inspect, format("%p", headers)].each do |text|
      refute_match FORMS, text
      assert_includes text, "Server"
    end
    assert_equal "id=#{CANARY}", headers["set-cookie"]
  end

  # A marshalled request runs again once its credentials are set.
  def test_marshal_keeps_what_is_no_credential
    headers = { "Accept" => "x", "X-Own" => CANARY }
    body = { a: 1, password: CANARY }
    made = request("http://user:#{CANARY}@a.test/?q=1&key=#{CANARY}", method: :post, userpwd: "a:#{CANARY}", body: body,
                                                                      params: { b: 2 }, headers: headers)
    read = Marshal.load(Marshal.dump(made))
    assert_equal ["http://a.test/?q=1&key=[hidden]", :post, { a: 1 }, { b: 2 }, nil, PATIENCE],
                 [read.base_url, *read.options.values_at(:method, :body, :params, :userpwd, :timeout)]
    assert_equal ["x", "[hidden]"], read.options[:headers].values_at("Accept", "X-Own")
  end

  private

  def assert_failures(options)
    failing = serve(response_bytes("no", status: "404 X"))
    assert_hidden request(failing.url, failonerror: true, **options).run
    refused = request("http://127.0.0.1:#{refused_port}/", **options)
    assert_hidden refused.run, refused.response.error
  end
end
