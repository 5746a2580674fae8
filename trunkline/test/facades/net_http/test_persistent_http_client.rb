# frozen_string_literal: true

require_relative "../../test_helper"
require "trunkline/persistent_http_client"

# PersistentHttpClient has the methods of Net::HTTP, and leaves Net::HTTP itself unpatched.
class TestPersistentHttpClient < TrunklineTest
  def teardown
    Trunkline::PersistentHttpClient.clear
    super
  end

  def test_requests_of_net_http
    server = serve do |connection|
      connection << response_bytes(connection.requests.last.target) while connection.read_request
    end
    http = Trunkline::PersistentHttpClient.get(URI(server.url))
    response = http.request(Net::HTTP::Get.new("/one?a=1"))
    assert_instance_of Net::HTTPOK, response
    assert_equal ["200", "/one?a=1", nil], [response.code, response.body, response.value]
    assert_equal "8", response.each_header.to_h["content-length"]
    assert_equal ["/two"], [].tap { |pieces| http.get("/two") { |piece| pieces << piece } }
    assert_equal "post", http.post("/p", "post") && server.requests.last.body
    assert_equal 1, server.connection_count
  end

  def test_get_returns_the_same_started_client
    server = serve
    http = Trunkline::PersistentHttpClient.get(server.url)
    assert_predicate http, :started?
    assert_same http, Trunkline::PersistentHttpClient.get(server.url)
    refute_same http, Trunkline::PersistentHttpClient.get(server.url, read_timeout: 1)
    assert server.wait_for_connections(1)
    http.finish
    assert_equal "ok", Trunkline::PersistentHttpClient.get(server.url).get("/").body
    assert_equal 1, server.connection_count
  end

  def test_all_clients_of_an_origin_share_connections
    server = serve
    4.times { |n| Trunkline::PersistentHttpClient.get(server.url, read_timeout: 10 + n).get("/") }
    assert_equal 1, server.connection_count
  end

  def test_threads_share_one_object
    server = serve do |connection|
      connection << response_bytes(connection.requests.last.target) while connection.read_request
    end
    http = Trunkline::PersistentHttpClient.get(server.url)
    bodies = Array.new(8) { |n| Thread.new { Array.new(20) { |m| http.get("/#{n}/#{m}").body } } }.map(&:value)
    assert_equal(Array.new(8) { |n| Array.new(20) { |m| "/#{n}/#{m}" } }, bodies)
    assert_operator server.connection_count, :<=, 8
  end

  def test_default_timeouts
    http = Trunkline::PersistentHttpClient.get(serve.url)
    assert_equal [30, 80, 30], [http.open_timeout, http.read_timeout, http.keep_alive_timeout]
  end

  def test_options_of_net_http
    server = serve(&:stall)
    http = Trunkline::PersistentHttpClient.get(server.url, read_timeout: 0.1)
    assert_raises(Net::ReadTimeout) { http.get("/") }
    secure = serve_tls
    assert_equal "ok", Trunkline::PersistentHttpClient.get(secure.url, ca_file: TestCA.ca_file).get("/").body
    assert_raises(OpenSSL::SSL::SSLError) { Trunkline::PersistentHttpClient.get(secure.url) }
  end

  def test_a_proxy
    proxy = serve
    http = Trunkline::PersistentHttpClient.get("http://api.test/", proxy: "http://us%20er:pass@127.0.0.1:#{proxy.port}")
    2.times { assert_equal "ok", http.get("/a").body }
    assert_equal "http://api.test/a", proxy.requests.first.target
    assert_equal "Basic #{["us er:pass"].pack("m0")}", proxy.requests.first["proxy-authorization"]
    assert_equal 1, proxy.connection_count
    assert_equal "ok", Trunkline::PersistentHttpClient.get(proxy.url, proxy: nil).get("/direct").body
  end

  def test_a_slow_connect_does_not_delay_other_clients
    port = opened(FullBacklog.new).port
    slow = Thread.new { Trunkline::PersistentHttpClient.get("http://127.0.0.1:#{port}", open_timeout: 1) }
    slow.report_on_exception = false
    eventually { slow.status == "sleep" }
    assert_quick(0.5) { Trunkline::PersistentHttpClient.get(serve.url) }
    assert_raises(Net::OpenTimeout) { slow.value }
  end

  def test_a_client_that_needs_net_http_is_not_shared_by_threads
    server = serve_tls
    options = { ca_file: TestCA.ca_file, verify_callback: ->(good, _) { good } }
    capture_io do
      mine = Trunkline::PersistentHttpClient.get(server.url, **options)
      assert_same mine, Trunkline::PersistentHttpClient.get(server.url, **options)
      theirs = Thread.new { Trunkline::PersistentHttpClient.get(server.url, **options) }.value
      refute_same mine, theirs
      [mine, theirs].each { |http| assert_equal "ok", http.get("/").body }
      [mine, theirs].each(&:finish)
    end
  end

  def test_a_request_that_it_cannot_carry
    http = Trunkline::PersistentHttpClient.get(serve.url)
    assert_raises(ArgumentError) { http.get("/with space") }
    assert_raises(ArgumentError) { http.get("/", "Upgrade" => "websocket") }
    assert_raises(ArgumentError) { http.get("/", "Content-Length" => "5") }
    assert_equal "ok", http.get("/").body
  end

  def test_unknown_options_and_bad_urls_are_refused
    error = assert_raises(ArgumentError) { Trunkline::PersistentHttpClient.get(serve.url, timeout: 1) }
    assert_match(/timeout: is no option of Net::HTTP/, error.message)
    ["ftp://a.test", "/path", "http:///path"].each do |uri|
      assert_raises(ArgumentError, uri) { Trunkline::PersistentHttpClient.get(uri) }
    end
    assert_raises(Errno::ECONNREFUSED) { Trunkline::PersistentHttpClient.get("http://127.0.0.1:#{refused_port}") }
  end

  def test_net_http_itself_is_left_alone
    server = serve
    Trunkline::PersistentHttpClient.get(server.url).get("/")
    Net::HTTP.new("127.0.0.1", server.port).get("/")
    assert_equal 2, server.connection_count
    assert_equal "close", server.requests.last["connection"]
  end

  def test_a_closed_connection_is_replaced
    server = serve { |connection| connection.read_request && connection << response_bytes(connection.number.to_s) }
    http = Trunkline::PersistentHttpClient.get(server.url)
    assert_equal "1", http.get("/").body
    eventually { server.connections[0].socket.closed? }
    assert_equal "2", http.get("/").body
  end
end
