# frozen_string_literal: true

require_relative "../test_helper"
%w[microsocks squid tinyproxy websocket_peers].each { |name| require_relative "../support/#{name}" }

# WebSockets through proxies: both ws: and wss: use a tunnel (RFC 6455 4.1).
class TestWebSocketProxies < TrunklineTest
  include WebSocketPeers

  def test_each_kind_of_proxy
    { squid: Squid.instance.url, squid_over_tls: Squid.instance.url(:secure), tinyproxy: Tinyproxy.url,
      socks5: Microsocks.instance.url("socks5"), socks5h: Microsocks.instance.url }.each do |name, proxy|
      assert_equal ["/chat", nil, nil], request_through(proxy, peers(&:echo)), name
      assert_equal ["/chat", nil, nil], request_through(proxy, secure_peers), "#{name}, wss"
    end
  end

  def test_credentials_are_sent_only_to_the_proxy
    [Squid.with_password.url(credentials: "robin:p%40ss%20word%2F1"), Microsocks.with_password.url].each do |proxy|
      assert_equal ["/chat", nil, nil], request_through(proxy, peers(&:echo))
    end
  end

  def test_the_proxy_gets_a_connect_request
    server = peers(&:echo)
    proxy = serve { |connection| pass_on(connection, server.port) }
    http = client(proxy: "http://robin:secret@#{proxy.address}")
    http.websocket("ws://chat.test/a") { |socket| assert_equal "x", socket.write("x").read }
    request = proxy.requests.first
    assert_equal ["CONNECT", "chat.test:80", "Basic #{["robin:secret"].pack("m0")}"],
                 [request.verb, request.target, request["proxy-authorization"]]
    assert_equal ["GET", "/a", "chat.test", nil],
                 server.requests.first.then { |got| [got.verb, got.target, got["host"], got["proxy-authorization"]] }
  end

  def test_other_requests_to_the_same_server_are_still_sent_to_the_proxy
    server = serve { |connection| serve_both(connection) }
    http = client(server.url, proxy: Tinyproxy.url)
    http.websocket { |socket| socket.write("x").read }
    assert_equal "ok", http.get("/").body
    assert_match(/tinyproxy/i, server.requests.last["via"])
  end

  def test_a_proxy_that_refuses
    server = peers(&:echo)
    error = assert_raises_with(Trunkline::ProxyError, phase: :connect, sent: :none, status: 407) do
      client(proxy: Squid.with_password.url).websocket(server.url.sub("http", "ws"))
    end
    assert_match(/html/, error.body)
    refused = assert_raises(Trunkline::ProxyError) do
      client(proxy: Squid.instance.url).websocket("ws://a.forbidden.test/")
    end
    assert_equal 403, refused.status
    assert_empty server.requests
  end

  def test_no_proxy
    server = peers(&:echo)
    http = client(proxy: "http://127.0.0.1:1", no_proxy: "127.0.0.1")
    http.websocket(server.url.sub("http", "ws")) { |socket| assert_equal "x", socket.write("x").read }
  end

  private

  # Returns parts of the handshake request that the server received, after a message was echoed.
  def request_through(proxy, server)
    http = client(proxy: proxy, ca_file: TestCA.client_authorities_file)
    url = server.url("/chat").sub("http", "ws")
    http.websocket(url) { |socket| assert_equal "y" * 70_000, socket.write("y" * 70_000).read }
    server.requests.first.then { |request| [request.target, request["via"], request["proxy-authorization"]] }
  end

  def secure_peers = peers(tls: TestCA.server_context(:localhost), &:echo)

  def serve_both(connection)
    request = connection.read_request
    return connection << response_bytes("ok") unless request["upgrade"]

    WebSocketPeer.new(connection, request).accept.echo
  end

  def pass_on(connection, port)
    connection.read_request
    connection << "HTTP/1.1 200 Connected\r\n\r\n"
    server = TCPSocket.new("127.0.0.1", port)
    back = Thread.new { copy(server, connection.tcp) }
    copy(connection.tcp, server)
  ensure
    server&.close
    back&.join
  end

  def copy(from, to)
    loop { to.write(from.readpartial(1000)) }
  rescue IOError, SystemCallError
    to.close_write unless to.closed?
  end
end
