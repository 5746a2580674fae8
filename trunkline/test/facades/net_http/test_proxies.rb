# frozen_string_literal: true

require_relative "../../test_helper"
require "net/http"
require "trunkline/net_http"

# Net::HTTP sessions through a proxy behave for the proxy and the caller as before install!.
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
    results = both { 2.times.map { through(proxy, *SECRET).get("/").body } }
    assert_equal [%w[ok ok]] * 2, results
    sent = proxy.requests.map { |request| [request.verb, request.target, request["proxy-authorization"]] }
    assert_equal [["CONNECT", "localhost:1", CREDENTIALS]], sent.uniq
    assert_equal 3, server.connection_count
  end

  def test_a_refused_tunnel_raises_what_a_refused_request_would
    proxy = serve(response_bytes("who?", status: "407 Proxy Authentication Required", "Proxy-Authenticate" => "Basic"))
    errors = both { assert_raises(Net::ProtocolError) { through(proxy).get("/") } }
    assert_equal(*errors.map(&:class))
    assert_equal(*errors.map(&:message))
    assert_equal(*errors.map { |error| [error.response.code, error.response["proxy-authenticate"]] })
  end

  def test_a_407_of_a_proxy_is_a_response
    proxy = serve(response_bytes("who?", status: "407 Proxy Authentication Required"))
    responses = both { Net::HTTP.new("api.test", 80, "127.0.0.1", proxy.port).get("/") }
    assert_equal(*responses.map { |response| [response.class, response.body] })
  end

  def test_an_unreachable_proxy
    port = refused_port
    errors = both { assert_raises(Errno::ECONNREFUSED) { Net::HTTP.new("api.test", 80, "127.0.0.1", port).get("/") } }
    # JRuby puts the system's message before it.
    words = /\A(Connection refused - )?Failed to open TCP connection to 127.0.0.1:#{port} \(/
    errors.each { |error| assert_match(words, error.message) }
  end

  private

  # @return [Array] the block's results before and after install!
  def both
    plain = yield
    Trunkline::NetHTTP.install!
    [plain, yield]
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
    relay(connection.socket, server)
  ensure
    server&.close
  end

  # Relays both directions in one thread, since JRuby's IO does not let two threads use a socket at once.
  def relay(one, other)
    ways = { one => other, other => one }
    IO.select(ways.keys).first.each { |from| copied?(from, ways[from]) || ways.delete(from) } until ways.empty?
  rescue SystemCallError, IOError
    nil # one side has closed
  end

  # @return [Boolean] false at the end of the stream
  def copied?(from, to)
    piece = from.read_nonblock(65_536, exception: false)
    to.write(piece) if piece.is_a?(String)
    to.close_write if piece.nil?
    !piece.nil?
  end
end
