# frozen_string_literal: true

require_relative "../test_helper"
%w[microsocks squid tinyproxy].each { |name| require_relative "../support/#{name}" }

# Calls through squid, tinyproxy and microsocks, as packaged by Debian.
class TestProxies < TrunklineTest
  SQUID_LOGIN = "robin:p%40ss%20word%2F1"

  # Trusts both authorities: squid sends its certificate without the chain.
  def through(proxy, base = nil, **options)
    client(base, proxy: proxy, ca_file: TestCA.client_authorities_file, **options)
  end

  def test_an_http_request_goes_to_an_http_proxy_in_absolute_form
    proxy = serve
    response = through("http://#{proxy.address}").get("http://api.test:8080/path?query=1")
    assert_equal "ok", response.body
    assert_equal "http://api.test:8080/path?query=1", proxy.requests.last.target
    assert_equal "api.test:8080", proxy.requests.last["Host"]
    assert_nil response.timings.resolve, "names are the proxy's to resolve"
  end

  def test_an_asterisk_is_a_path_and_alone_names_the_server
    proxy = serve
    http = through("http://#{proxy.address}", "http://api.test")
    http.get("*")
    http.options("*")
    url = Trunkline::URL.resolve("http://api.test/", nil)
    raw = http.raw("OPTIONS", url, "*", %w[Host api.test], nil, 0, false)
    http.send_once(raw)
    http.send_once(http.raw("GET", url, "*", %w[Host api.test], nil, 0, false))
    assert_equal ["http://api.test/*", "http://api.test/*", "http://api.test", "*"], proxy.requests.map(&:target)
    assert_equal "*", raw.target
  end

  def test_credentials_of_an_http_proxy_go_with_the_request
    proxy = serve
    through("http://robin:p%40ss@#{proxy.address}").get("http://api.test/")
    assert_equal "Basic #{["robin:p@ss"].pack("m0")}", proxy.requests.last["Proxy-Authorization"]
  end

  def test_connections_to_a_forwarding_proxy_serve_every_server
    http = through("http://#{serve.address}")
    assert_same_connection http.get("http://one.test/"), http.get("http://two.test/")
  end

  def test_squid_forwards_http
    server = serve
    response = through(Squid.instance.url).get(server.url("/path"))
    assert_equal "ok", response.body
    assert_equal "/path", server.requests.last.target
  end

  def test_https_through_squid
    server = serve_tls
    response = through(Squid.instance.url).get(server.url("/path"))
    assert_equal "ok", response.body
    assert_equal "TLSv1.3", response.connection.tls_version
    assert_equal "/path", server.requests.last.target
    assert_nil server.requests.last["Proxy-Authorization"]
  end

  def test_squid_with_a_password
    plain = serve
    secure = serve_tls
    http = through(Squid.with_password.url(credentials: SQUID_LOGIN))
    assert_equal "ok", http.get(plain.url).body
    assert_equal "ok", http.get(secure.url).body
    assert_nil plain.requests.last["Proxy-Authorization"]
    assert_nil secure.requests.last["Proxy-Authorization"]
  end

  def test_squid_refuses_when_the_password_is_missing_or_wrong
    plain = serve
    secure = serve_tls
    [Squid.with_password.url, Squid.with_password.url(credentials: "robin:wrong")].each do |proxy|
      error = assert_raises_with(Trunkline::ProxyError, phase: :connect, sent: :none, status: 407) do
        through(proxy).get(secure.url)
      end
      assert_match(/Basic realm="trunkline"/, error.headers["Proxy-Authenticate"])
      assert_match(/html/, error.body)
      refute_match(/wrong/, error.message)
      error = assert_raises_with(Trunkline::ProxyError, phase: :read, sent: :all, status: 407) do
        through(proxy).get(plain.url)
      end
      assert_match(/html/, error.body)
    end
    assert_empty plain.requests + secure.requests
  end

  def test_squid_refuses_requests_among_many
    plain = serve
    results = through(Squid.with_password.url).map([plain.url, plain.url])
    assert_equal [[Trunkline::ProxyError, 407]] * 2, results.map { |error| [error.class, error.status] }
  end

  def test_no_proxy
    proxy = serve(response_bytes("proxied"))
    server = serve
    port = server.port
    { "127.0.0.1" => "ok", "127.0.0.0/8, other.test" => "ok", %W[a.test 127.0.0.1:#{port}] => "ok", "*" => "ok",
      "127.0.0.1:1" => "proxied", "" => "proxied", nil => "proxied" }.each do |list, body|
      response = client(proxy: "http://#{proxy.address}", no_proxy: list).get(server.url)
      assert_equal body, response.body, list.inspect
    end
  end

  def test_squid_refuses_a_host
    error = assert_raises_with(Trunkline::ProxyError, phase: :connect, sent: :none, status: 403) do
      through(Squid.instance.url).get("https://www.forbidden.test/")
    end
    assert_match(/403 Forbidden/, error.message)
    assert_match(/www\.forbidden\.test/, error.message)
    assert_operator error.body.bytesize, :>, 100
  end

  def test_an_https_proxy_forwards_http
    server = serve
    response = through(Squid.instance.url(:secure)).get(server.url("/path"))
    assert_equal "ok", response.body
    assert_equal "TLSv1.3", response.connection.tls_version
  end

  def test_tls_in_tls
    server = serve_tls
    http = through(Squid.instance.url(:secure))
    first = http.get(server.url)
    second = http.get(server.url)
    assert_equal %w[ok ok], [first, second].map(&:body)
    assert_same_connection first, second
    assert_operator first.timings.tls, :>, 0
  end

  def test_large_bodies_in_both_directions_through_tls_in_tls
    body = Random.bytes(3_000_000)
    server = serve_tls { |connection| connection << response_bytes(connection.read_request.body) }
    assert_equal body, through(Squid.instance.url(:secure)).post(server.url, body: body).body
  end

  def test_the_proxys_certificate_is_verified
    error = assert_raises_with(Trunkline::CertificateError, phase: :tls, sent: :none) do
      client(proxy: Squid.instance.url(:secure)).get("http://api.test/")
    end
    assert_match(/proxy 127\.0\.0\.1:/, error.message)
  end

  def test_the_servers_certificate_is_verified_behind_a_proxy
    server = serve_tls(identity: :expired)
    %i[open secure].each do |listener|
      assert_raises_with(Trunkline::CertificateError, phase: :tls) do
        through(Squid.instance.url(listener)).get(server.url)
      end
    end
  end

  def test_tinyproxy
    plain = serve
    secure = serve_tls
    http = through(Tinyproxy.url)
    assert_equal "ok", http.get(plain.url).body
    assert_equal "ok", http.get(secure.url).body
  end

  def test_socks_with_names_resolved_here_and_there
    plain = serve
    secure = serve_tls
    %w[socks5 socks5h].each do |scheme|
      http = through(Microsocks.instance.url(scheme))
      assert_equal "ok", http.get(plain.url).body
      assert_equal "ok", http.get(plain.url(host: "localhost")).body
      assert_equal "ok", http.get(secure.url(host: "localhost")).body
    end
    assert_equal "/", plain.requests.last.target, "origin-form: the server is spoken to"
  end

  def test_socks_to_ipv6
    server = serve(host: "::1")
    assert_equal "ok", through(Microsocks.instance.url).get(server.url).body
  end

  def test_socks_with_a_password
    server = serve
    assert_equal "ok", through(Microsocks.with_password.url).get(server.url).body
    error = assert_raises_with(Trunkline::ProxyError, phase: :connect, sent: :none, status: nil) do
      through(Microsocks.with_password.url(credentials: "robin:wrong")).get(server.url)
    end
    assert_match(/did not accept the user and password/, error.message)
    error = assert_raises(Trunkline::ProxyError) { through(Microsocks.with_password.url(credentials: nil)).get(server.url) }
    assert_match(/wants a user and a password/, error.message)
  end

  def test_connections_are_not_shared_between_proxies_or_credentials
    server = serve
    open = through(Microsocks.instance.url)
    first = open.get(server.url)
    assert_same_connection first, open.get(server.url)
    [false, Microsocks.with_password.url, Tinyproxy.url].each do |proxy|
      assert_different_connection first, open.get(server.url, proxy: proxy)
    end
    assert_same_connection first, open.get(server.url)
  end

  def test_the_proxy_is_chosen_anew_after_a_redirect
    forwarded = []
    server = serve_tls
    proxy = serve do |connection|
      while (request = connection.read_request)
        forwarded << request.target
        connection << redirect(server.url("/end"))
        connection.close if request.verb == "CONNECT"
      end
    end
    error = assert_raises(Trunkline::ProxyError) do
      through("http://#{proxy.address}", follow: 2).get("http://api.test/start")
    end
    assert_equal 302, error.status
    assert_equal ["http://api.test/start", "127.0.0.1:#{server.port}"], forwarded
  end

  def test_connect_to_and_a_proxy
    server = serve
    http = through(Squid.instance.url, connect_to: server.address)
    assert_equal "ok", http.get("http://api.test/path").body
    assert_equal "api.test", server.requests.last["Host"]
    assert_equal "/path", server.requests.last.target
  end
end
