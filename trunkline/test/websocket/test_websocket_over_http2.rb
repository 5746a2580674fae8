# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../support/http2/http2_test"
require_relative "../support/websocket_peers"

# WebSockets on streams of a shared connection (RFC 8441).
class TestWebSocketOverHTTP2 < HTTP2Test
  include WebSocketPeers

  def setup
    super
    skip "needs epoll" if ENV.key?("TRUNKLINE_POLL")
  end

  MEGABYTE = 1_000_000

  def test_messages
    server = stream_peers("sec-websocket-protocol" => "b", &:echo)
    http = h2_client(server.url)
    http.websocket("/chat?a=1", protocols: %w[a b]) do |socket|
      assert_equal ["2", 200, "b", 1], [socket.response.http_version, socket.response.status, socket.protocol,
                                        http.stats[:in_use]]
      ["text", "", "\u00e4", "b\xFF".b, "x" * 200, "y" * MEGABYTE].each do |message|
        assert_equal [message, message.encoding], socket.write(message).read.then { |got| [got, got.encoding] }
      end
    end
    assert_equal 0, http.stats[:in_use]
    assert_extended_connect server.streams.first
  end

  def test_the_end_of_the_stream
    server = stream_peers(&:echo)
    socket = h2_client(server.url).websocket
    socket.close(3001, "done")
    assert_equal [3001, "done"], [socket.close_code, socket.close_reason]
    stream = server.streams.first
    assert server.connection.wait_until(PATIENCE) { stream.request_ended? }
    assert_includes [nil, :no_error], stream.reset_by_client
  end

  # name => [the server's action, what the reader gets]
  def test_the_servers_end
    { ended: [->(peer) { peer.stream.data("", end_stream: true) }, [nil, 1006]],
      gone: [->(peer) { peer.stream.connection.close }, [nil, 1006]],
      closed: [->(peer) { peer.send_frame(:close, [4001].pack("S>")) }, [nil, 4001]],
      reset: [->(peer) { peer.stream.reset(:cancel) }, [Trunkline::StreamReset, 1006]] }.each do |name, (does, seen)|
      server = stream_peers { |peer| peer.send_frame(:text, "last") && does.call(peer) }
      socket = opened_socket(h2_client(server.url).websocket)
      assert_equal "last", socket.read, name
      assert_equal seen, [outcome { socket.read }.then { |got| got && got.class }, socket.close_code], name
      assert_raises(Trunkline::ClosedError, name) { socket.write("x") }
    end
  end

  def test_beside_other_calls
    server = both
    http = h2_client(server.url)
    socket = opened_socket(http.websocket("/chat"))
    reader = Thread.new { Array.new(50) { socket.read } }
    in_threads(4) { 25.times { assert_equal "page", http.get("/page").body } }
    50.times { |number| socket.write("message #{number}") && http.get("/page") }
    assert_equal Array.new(50) { |number| "message #{number}" }, reader.value
    assert_equal 1, server.connection_count
  end

  def test_many_sockets_on_one_connection
    server = stream_peers(&:echo)
    http = h2_client(server.url, timeout: 20)
    sockets = Array.new(20) { opened_socket(http.websocket) }
    threads = sockets.each_with_index.map do |socket, number|
      Thread.new { Array.new(10) { |count| socket.write("#{number}.#{count}").read } }
    end
    threads.each_with_index { |one, number| assert_equal Array.new(10) { |count| "#{number}.#{count}" }, one.value }
    assert_equal 1, server.connection_count
  end

  def test_fibers_beside_other_calls
    http = h2_client(both.url, timeout: 20)
    Sync do |task|
      http.websocket("/chat") do |socket|
        reader = task.async { Array.new(20) { socket.read } }
        pages = task.async { Array.new(20) { http.get("/page").body } }
        20.times { |number| socket.write("message #{number}") }
        assert_equal [["page"], "message 19"], [pages.wait.uniq, reader.wait.last]
      end
    end
  end

  # A reader that waits leads the connection; after its timeout it must no longer.
  def test_a_reader_that_gave_up_leaves_the_connection_to_others
    server = both
    http = h2_client(server.url)
    socket = opened_socket(http.websocket("/chat"))
    assert_raises(Trunkline::ReadTimeout) { socket.read(timeout: 0.05) }
    assert_quick { 5.times { http.get("/page") } }
    assert_equal "still", socket.write("still").read
  end

  def test_the_server_grants_no_window
    server = both
    http = h2_client(server.url, timeout: { connect: 5, first_byte: 5, read: 5, write: 0.2 })
    socket = opened_socket(http.websocket("/silent"))
    assert_raises(Trunkline::WriteTimeout) { socket.write("x" * MEGABYTE) }
    assert_predicate socket, :closed?
    assert_equal "page", http.get("/page").body
  end

  def test_an_unread_socket_stops_the_sender
    sent = Queue.new
    server = stream_peers { |peer| 40.times { |number| peer.send_frame(:binary, "z" * 100_000) && sent << number } }
    http = h2_client(server.url)
    socket = opened_socket(http.websocket)
    eventually { sent.size >= 9 }
    sleep 0.2
    assert_operator sent.size, :<=, 12 # the stream's window is 1 MiB
    assert_equal [100_000] * 40, Array.new(40) { socket.read.bytesize }
  end

  def test_writers_wait_for_the_window
    server = FrameServer.new(settings: { enable_connect_protocol: 1 }, grants: :never) { |stream| grant_slowly(stream) }
    socket = opened_socket(h2_client(opened(server).url).websocket)
    reader = Thread.new { socket.read }
    socket.write("w" * 300_000)
    assert_equal "300000", reader.value
  end

  def test_settings_that_come_late
    server = FrameServer.new(hello: lambda { |connection|
      sleep 0.1
      connection.send_settings(enable_connect_protocol: 1)
    }) { |stream| WebSocketStreamPeer.new(stream).accept.echo }
    h2_client(opened(server).url).websocket { |socket| assert_equal "a", socket.write("a").read }
  end

  def test_a_server_that_does_not_offer_it
    server = serve_frames
    http = h2_client(server.url)
    error = assert_raises_with(Trunkline::ProtocolError, sent: :none) { http.websocket }
    assert_match(/takes no WebSockets over HTTP.2/, error.message)
    assert_equal "ok", http.get("/").body
    assert_equal [1, 1], [server.connection_count, server.streams.size]
  end

  def test_a_refusal
    server = FrameServer.new(settings: { enable_connect_protocol: 1 }) { |stream| stream.answer("no", status: 403) }
    http = h2_client(opened(server).url)
    error = assert_raises(Trunkline::ClientError) { http.websocket }
    assert_equal [403, "no"], [error.response.status, error.response.body]
    assert_equal 0, http.stats[:in_use]
    wrong = stream_peers("sec-websocket-protocol" => "unasked", &:echo)
    assert_raises(Trunkline::InvalidResponse) { h2_client(wrong.url).websocket }
  end

  def test_through_nghttpx
    server = peers(&:echo)
    gateway = opened(Nghttpx.new(server.port).tap(&:start))
    http = secure_client("https://localhost:#{gateway.ports.fetch(:tls)}", http: :h2)
    2.times do |number|
      http.websocket("/chat/#{number}") do |socket|
        ["a", "b" * 200_000].each { |message| assert_equal message, socket.write(message).read }
        assert_equal "2", socket.response.http_version
      end
    end
    assert_equal %w[/chat/0 /chat/1], server.requests.map(&:target)
  end

  # Without http: :h2, HTTP/2 is used if a connection to the server is open whose settings permit it.
  def test_an_open_connection_is_used
    server = both(tls: TestCA.server_context(:localhost, alpn: %w[h2]))
    http = secure_client(server.url(host: "localhost"))
    http.get("/page")
    url = server.url("/chat", host: "localhost").sub("https", "wss")
    http.websocket(url) { |socket| assert_equal %w[2 a], [socket.response.http_version, socket.write("a").read] }
    assert_equal 1, server.connection_count
  end

  def test_otherwise_it_is_http1
    { { enable_connect_protocol: 1 } => false, {} => true }.each do |settings, called_before|
      server = FrameServer.new(tls: TestCA.server_context(:localhost, alpn: %w[h2 http/1.1]), settings: settings,
                               fallback: method(:echo_http1), &:answer)
      http = secure_client(opened(server).url(host: "localhost"))
      http.get("/") if called_before
      http.websocket { |socket| assert_equal ["1.1", "a"], [socket.response.http_version, socket.write("a").read] }
    end
  end

  private

  # /chat echoes, /silent reads nothing, all other paths are pages.
  def both(tls: nil)
    server = FrameServer.new(tls: tls, settings: { enable_connect_protocol: 1 }, grants: :read) do |stream|
      next stream.answer("page") unless stream.pseudo(":protocol")

      peer = WebSocketStreamPeer.new(stream).accept
      stream.target == "/silent" ? stream.stall : peer.echo
    end
    opened(server)
  end

  # Grants a window so slowly that a writer has to wait, and sends the size of the received message.
  def grant_slowly(stream)
    peer = WebSocketStreamPeer.new(stream).accept
    granting = Thread.new do
      8.times do
        sleep 0.01
        stream.connection.grant(30_000)
        stream.grant(30_000)
      end
    end
    size = peer.read.payload.bytesize
    granting.join
    peer.send_frame(:text, size.to_s)
  end

  def echo_http1(connection, first)
    lines = [first]
    lines << connection.line.read_line until lines.last.empty?
    fields = lines.join("\r\n").sub(first + "\r\n", first).lines.drop(1).map { |line| line.chomp.split(": ", 2) }
    request = ScriptedConnection::Request.new(nil, "GET", "/", fields, "")
    WebSocketPeer.new(connection.line, request).accept.echo
  end

  def assert_extended_connect(stream)
    assert_equal ["CONNECT", "websocket", "http", "/chat?a=1"],
                 %w[:method :protocol :scheme :path].map { |name| stream.pseudo(name) }
    assert_equal ["13", "a, b", nil, nil, nil],
                 %w[sec-websocket-version sec-websocket-protocol sec-websocket-key upgrade connection]
                   .map { |name| stream[name] }
  end
end
