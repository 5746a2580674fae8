# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/options"
require "trunkline/proxies"
require "trunkline/url"

# The choice of a proxy by proxy: and by the environment, without a network.
class TestProxy < Minitest::Test
  def url(text) = Trunkline::URL.parse(text)
  def proxies(**environment) = Trunkline::Proxies.new(nil, environment.transform_keys(&:to_s))
  def chosen(text, **environment) = proxies(**environment).for(url(text))&.to_s

  def test_a_proxy_url
    proxy = Trunkline::Proxy.parse("HTTP://Robin:p%40ss@Proxy.test:3128/")
    assert_equal "http://proxy.test:3128", proxy.to_s
    assert_equal "Basic #{["Robin:p@ss"].pack("m0")}", proxy.through(true)[:authorization]
    refute_match(/Robin|p@ss|p%40ss/, proxy.inspect)
    assert_equal 80, Trunkline::Proxy.parse("http://proxy.test").port
    assert_equal 443, Trunkline::Proxy.parse("https://proxy.test").port
    assert_equal 1080, Trunkline::Proxy.parse("socks5h://[::1]").port
    assert_equal "::1", Trunkline::Proxy.parse("socks5h://[::1]").host
    assert_equal "proxy.test", Trunkline::Proxy.parse("https://proxy.test").through(true)[:tls_name]
  end

  def test_invalid_proxy_urls_are_refused
    ["proxy.test:3128", "ftp://proxy.test", "socks4://proxy.test", "http://", "http://proxy.test:0", "", "http://a b",
     "http://proxy.test:99999", "http://proxy.test/path", "http://u:p@", "http://-x-/"].each do |text|
      error = assert_raises(Trunkline::InvalidRequest, text) { Trunkline::Proxy.parse(text) }
      assert_match(/\Aproxy: must be a URL such as/, error.message)
    end
  end

  def test_credentials_are_never_shown
    ["http://robin:se%ZZcret@proxy.test", "http://robin:secret@proxy.test:x", "http://robin:sec%0Aret@proxy.test",
     "socks5://robin:#{"secret" * 50}@proxy.test", "socks5://robin@proxy.test"].each do |text|
      error = assert_raises(Trunkline::InvalidRequest, text) { Trunkline::Proxy.parse(text) }
      refute_match(/robin|secret/, error.message)
    end
  end

  def test_the_option
    assert_nil Trunkline::Options.check(:proxy, nil)
    refute Trunkline::Options.check(:proxy, false)
    assert_raises(Trunkline::InvalidRequest) { Trunkline::Options.check(:proxy, 8080) }
    assert_raises(Trunkline::InvalidRequest) { Trunkline::Options.defaults.merge(proxy: "nonsense") }
    assert_equal "http://proxy.test:3128", Trunkline::Options.check(:proxy, "proxy.test:3128").to_s
    assert_equal "http://[::1]:3128", Trunkline::Options.check(:proxy, "robin:pw@[::1]:3128").to_s
    assert_equal "socks5://p.test:1", Trunkline::Options.check(:proxy, URI("socks5://p.test:1")).to_s
    options = Trunkline::Options.defaults.merge(proxy: "http://robin:secret@proxy.test")
    refute_match(/secret/, options.inspect)
  end

  def test_the_environment_by_scheme
    assert_equal "http://p:1", chosen("http://api.test", http_proxy: "http://p:1", https_proxy: "http://p:2")
    assert_equal "http://p:2", chosen("https://api.test", http_proxy: "http://p:1", https_proxy: "http://p:2")
    assert_nil chosen("https://api.test", http_proxy: "http://p:1")
    assert_equal "socks5h://p:3", chosen("https://api.test", http_proxy: "http://p:1", all_proxy: "socks5h://p:3")
    assert_equal "http://p:80", chosen("http://api.test", HTTP_PROXY: "p")
    assert_equal "http://p:1", chosen("http://api.test", http_proxy: "p:1", HTTP_PROXY: "q:2")
    assert_equal "http://p:2", chosen("http://api.test", http_proxy: " ", ALL_PROXY: "p:2")
    assert_nil chosen("http://api.test")
  end

  def test_http_proxy_in_upper_case_is_not_read_in_a_cgi_program
    assert_nil chosen("http://api.test", HTTP_PROXY: "p:1", REQUEST_METHOD: "GET")
    assert_equal "http://p:1", chosen("http://api.test", http_proxy: "p:1", REQUEST_METHOD: "GET")
    assert_equal "http://p:1", chosen("https://api.test", HTTPS_PROXY: "p:1", REQUEST_METHOD: "GET")
  end

  def test_an_environment_that_names_no_proxy
    error = assert_raises(Trunkline::InvalidRequest) { chosen("http://api.test", HTTP_PROXY: "gopher://p") }
    assert_match(/\AHTTP_PROXY: must be/, error.message)
  end

  # As with LANG=C, and with a Latin-1 file that a shell has read.
  def test_an_environment_that_is_no_text
    ["b\xFCcher.test, api.test", "bücher.test, api.test".dup.force_encoding("US-ASCII")].each do |list|
      assert_nil chosen("http://api.test", http_proxy: "p:1", no_proxy: list)
      assert_equal "http://p:1", chosen("http://other.test", http_proxy: "p:1", no_proxy: list)
    end
  end

  def test_this_machine_is_reached_directly
    %w[http://localhost:1 http://127.0.0.1 http://127.9.9.9 http://[::1] http://[::ffff:127.0.0.1]
       http://app.localhost].each do |text|
      assert_nil chosen(text, http_proxy: "p:1"), text
    end
  end

  # list => [hosts reached directly, hosts reached through the proxy]
  NO_PROXY = {
    "*" => [%w[api.test 10.0.0.1 [2001:db8::1]], []],
    "api.test" => [%w[api.test API.test api.test. v1.api.test api.test:8080], %w[api.test.evil xapi.test test]],
    ".api.test" => [%w[v1.api.test], %w[api.test]],
    "*.api.test" => [%w[v1.api.test], %w[api.test]],
    "api.test:8080" => [%w[api.test:8080 v1.api.test:8080], %w[api.test api.test:8081]],
    "10.0.0.1" => [%w[10.0.0.1 10.0.0.1:81 [::ffff:10.0.0.1]], %w[10.0.0.2 x10.0.0.1.test]],
    "::ffff:10.0.0.1" => [%w[10.0.0.1 [::ffff:10.0.0.1]], %w[10.0.0.2 [::1:10.0.0.1]]],
    "10.0.0.1:81" => [%w[10.0.0.1:81], %w[10.0.0.1]],
    "10.0.0.0/8, 192.168.1.0/24" => [%w[10.1.2.3 192.168.1.9], %w[11.0.0.1 192.168.2.1]],
    "2001:db8::/32" => [%w[[2001:db8::5]], %w[[2001:db9::5]]],
    "[2001:db8::1]:81 2001:db8::2" => [%w[[2001:db8::1]:81 [2001:db8::2]], %w[[2001:db8::1]]],
    "one.test, two.test three.test" => [%w[one.test two.test three.test], %w[four.test]],
    " , ,/,:,[x]:y,10.0.0.0/99" => [[], %w[api.test 10.0.0.1]],
    "" => [[], %w[api.test]]
  }.freeze

  def test_no_proxy
    NO_PROXY.each do |list, (direct, proxied)|
      found = proxies(http_proxy: "p:1", no_proxy: list)
      direct.each { |host| assert_nil found.for(url("http://#{host}/")), "#{host} with #{list}" }
      proxied.each { |host| assert found.for(url("http://#{host}/")), "#{host} with #{list}" }
    end
  end

  def test_socket_options
    assert_equal({ address: "127.0.0.1" }, Trunkline::Options.check(:bind, "127.0.0.1"))
    assert_equal({ address: "::1" }, Trunkline::Options.check(:bind, "::1"))
    assert_equal({ interface: "eth0" }, Trunkline::Options.check(:bind, "eth0"))
    assert_equal({ idle: 30, interval: 10 }, Trunkline::Options.check(:tcp_keepalive, true))
    assert_equal({ idle: 5, interval: 10 }, Trunkline::Options.check(:tcp_keepalive, 5))
    assert_equal({ idle: 5, interval: 2 }, Trunkline::Options.check(:tcp_keepalive, { idle: 5, interval: 2 }))
    assert_equal({ idle: 0, interval: 0 }, Trunkline::Options.check(:tcp_keepalive, false))
    assert_equal 1500, Trunkline::Options.check(:tcp_user_timeout, 1.5)
    ["", "10.0.0.0/8", "300.1.1.1", "way-too-long-a-name", 7].each { |bad| refuted(:bind, bad) }
    [0, -1, 1.5, { idle: 0 }, { other: 1 }, "30"].each { |bad| refuted(:tcp_keepalive, bad) }
    [0, -1, "5"].each { |bad| refuted(:tcp_user_timeout, bad) }
  end

  private

  def refuted(option, value)
    error = assert_raises(Trunkline::InvalidRequest, value.inspect) { Trunkline::Options.check(option, value) }
    assert_match(/\A#{option}:/, error.message)
  end
end
