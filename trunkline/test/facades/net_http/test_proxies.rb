# frozen_string_literal: true

require_relative "../../test_helper"
require "net/http"
require "trunkline/net_http"

# Net::HTTP sessions through a proxy: the same for the proxy and the caller as before install!.
class TestNetHTTPProxies < TrunklineTest
  SECRET = ["us er", "p:ss"].freeze
  CREDENTIALS = "Basic #{[SECRET.join(":")].pack("m0")}".freeze

  def teardown
    Trunkline::NetHTTP.uninstall!
    super
  end

  def test_a_plain_request_is_sent_to_the_proxy
    proxy = serve
    results = both { 2.times.map { Net::HTTP.new("api.test", 8080, "127.0.0.1", proxy.port, *SECRET).get("/a?b=1").body } }
    assert_equal [%w[ok ok]] * 2, results
    assert_equal 4, proxy.requests.map(&:target).grep("http://api.test:8080/a?b=1").size
    assert_equal [CREDENTIALS] * 4, proxy.requests.map { |request| request["proxy-authorization"] }
    assert_equal 1, proxy.raw_requests.map { |raw| raw.sub("Connection: close\r\n", "") }.uniq.size
    assert_equal 3, proxy.connection_count
  end

  def test_the_proxy_of_the_environment
    proxy = serve
    program = <<~RUBY
      require "trunkline/net_http"
      Trunkline::NetHTTP.install!
      puts Net::HTTP.get(URI("http://api.test/x"))
      puts Net::HTTP.get(URI("http://api.test/y"))
    RUBY
    result = Subprocess.run(program, { "http_proxy" => proxy.url, "no_proxy" => nil })
    assert_equal "ok\nok\n", result.out, result.err
    assert_equal ["http://api.test/x", "http://api.test/y"], proxy.requests.map(&:target)
    assert_equal 1, proxy.connection_count
  end

  def test_a_tunnel
    server = serve_tls
    proxy = serve { |connection| tunnel(connection, server.port) }
    # JRuby's own does not end a handshake through a tunnel.
    ways = RUBY_ENGINE == "jruby" ? [true] : [false, true]
    results = ways.map { |install| with(install) { 2.times.map { through(proxy, *SECRET).get("/").body } } }
    assert_equal [%w[ok ok]] * ways.size, results
    asked = proxy.requests.map { |request| [request.verb, request.target, request["proxy-authorization"]] }
    assert_equal [["CONNECT", "localhost:1", CREDENTIALS]], asked.uniq
    assert_equal ways.sum { |install| install ? 1 : 2 }, server.connection_count
  end

  def test_a_refused_tunnel_raises_what_a_refused_request_would
    proxy = serve(answer("who?", status: "407 Proxy Authentication Required", "Proxy-Authenticate" => "Basic"))
    errors = both { assert_raises(Net::ProtocolError) { through(proxy).get("/") } }
    assert_equal(*errors.map(&:class))
    assert_equal(*errors.map(&:message))
    assert_equal(*errors.map { |error| [error.response.code, error.response["proxy-authenticate"]] })
  end

  def test_a_refused_request_is_an_answer
    proxy = serve(answer("who?", status: "407 Proxy Authentication Required"))
    responses = both { Net::HTTP.new("api.test", 80, "127.0.0.1", proxy.port).get("/") }
    assert_equal(*responses.map { |response| [response.class, response.body] })
  end

  def test_a_proxy_that_is_not_there
    port = refused_port
    errors = both { assert_raises(Errno::ECONNREFUSED) { Net::HTTP.new("api.test", 80, "127.0.0.1", port).get("/") } }
    # JRuby puts the system's words before it, too.
    words = /\A(Connection refused - )?Failed to open TCP connection to 127.0.0.1:#{port} \(/
    errors.each { |error| assert_match(words, error.message) }
  end

  private

  # @return [Array] the block's results before and after install!
  def both(&block) = [false, true].map { |install| with(install, &block) }

  def with(install)
    Trunkline::NetHTTP.install! if install
    yield
  end

  def through(proxy, *credentials)
    Net::HTTP.new("localhost", 1, "127.0.0.1", proxy.port, *credentials).tap do |http|
      http.use_ssl = true
      http.ca_file = TestCA.ca_file
    end
  end

  def tunnel(connection, port)
    connection.read_request
    server = TCPSocket.new("127.0.0.1", port)
    connection << "HTTP/1.1 200 Connection established\r\n\r\n"
    back = Thread.new { relay(server, connection.socket) }
    relay(connection.socket, server)
    back.join # first: a copy from a socket that another thread closes may wait for ever
  ensure
    server&.close
  end

  def relay(from, to)
    IO.copy_stream(from, to)
    to.close_write
  rescue SystemCallError, IOError
    nil # one side has gone
  end
end
