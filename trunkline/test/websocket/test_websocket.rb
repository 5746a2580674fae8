# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../support/websocket_peers"
require_relative "../test_helper"

# Client#websocket on real sockets, against a server that reads frame by frame.
class TestWebSocket < TrunklineTest
  include WebSocketPeers

  def test_messages
    server = peers(&:echo)
    http = client(server.url)
    value = http.websocket("/chat?a=1") do |socket|
      ["text", "", "ä", "b\xFF".b, "x" * 200, "y" * 300_000].each do |message|
        assert_same socket, socket.write(message)
        assert_equal [message, message.encoding], socket.read.then { |got| [got, got.encoding] }
      end
      assert_equal [101, 1], [socket.response.status, http.stats[:in_use]]
      :value
    end
    assert_equal [:value, 0], [value, http.stats[:in_use]]
    assert_handshake server.requests.first
  end

  def test_urls
    server = peers(&:echo)
    [server.url.sub("http", "ws"), server.url, URI(server.url)].each do |url|
      client.websocket(url) { |socket| assert_equal "a", socket.write("a").read }
    end
  end

  def test_over_tls
    server = peers(tls: TestCA.server_context(:localhost), &:echo)
    secure_client.websocket(server.url(host: "localhost").sub("https", "wss")) do |socket|
      assert_equal "z" * 100_000, socket.write("z" * 100_000).read
    end
  end

  def test_a_frame_received_with_the_handshake_and_a_fragmented_message
    first = WebSocketPeer.frame(:text, "first")
    server = peers(behind: first) do |peer|
      peer.send_frame(:text, "in ", last: false)
      peer.send_frame(:ping, "between")
      peer.send_frame(:continuation, "pieces")
      assert_equal [:pong, "between"], peer.read.then { |frame| [frame.kind, frame.payload] }
      peer.echo
    end
    client(server.url).websocket { |socket| assert_equal ["first", "in pieces"], [socket.read, socket.read] }
  end

  def test_the_server_closes
    { [4001, "gone"].pack("S>a*") => [4001, "gone"], "" => [1005, ""] }.each do |payload, expected|
      server = peers { |peer| peer.send_frame(:close, payload) && peer.read }
      socket = client(server.url).websocket
      assert_nil socket.read
      assert_equal [expected, true], [[socket.close_code, socket.close_reason.to_s], socket.closed?]
      assert_raises(Trunkline::ClosedError) { socket.write("x") }
      assert_nil socket.close
    end
  end

  def test_the_connection_ends
    server = peers { |peer| peer.send_frame(:text, "last") }
    socket = client(server.url).websocket
    assert_equal ["last", nil, nil], Array.new(3) { socket.read }
    assert_equal 1006, socket.close_code
  end

  def test_we_close
    server = peers(&:echo)
    http = client(server.url)
    { 3001 => "done", 1001 => "going away" }.each do |code, reason|
      socket = http.websocket
      assert_nil socket.close(code, reason)
      assert_equal [code, true, nil, 0], [socket.close_code, socket.closed?, socket.read, http.stats[:in_use]]
    end
    assert_raises(Trunkline::InvalidRequest) { http.websocket.tap { |other| opened_socket(other) }.close(1006) }
  end

  def test_silence
    server = peers { |peer| peer.read && peer.send_frame(:text, "late") && peer.echo }
    socket = opened_socket(client(server.url, timeout: { connect: 2, read: 0.1 }).websocket)
    error = assert_raises(Trunkline::ReadTimeout) { socket.read }
    assert_equal :read, error.phase
    assert_equal "late", socket.write("go on").read(timeout: 5)
  end

  def test_pings_keep_a_socket_alive_and_detect_a_dead_one
    server = peers do |peer|
      3.times { peer.send_frame(:pong, peer.read.payload) }
      peer.send_frame(:text, "here")
      peer.echo
    end
    socket = opened_socket(client(server.url, timeout: 10).websocket(ping: 0.1))
    assert_equal "here", socket.read
    dead = client(peers { |peer| peer.read && sleep }.url, timeout: 10).websocket(ping: 0.1)
    assert_match(/answered no ping/, assert_raises(Trunkline::ReadTimeout) { dead.read }.message)
    assert_predicate dead, :closed?
  end

  def test_a_thread_reads_while_others_write
    server = peers(&:echo)
    socket = opened_socket(client(server.url).websocket)
    writers = Array.new(3) do |number|
      Thread.new { 20.times { |count| socket.write("#{number}.#{count} " + ("x" * 30_000)) } }
    end
    got = Array.new(60) { socket.read[/\A\S+/] }
    writers.each(&:join)
    3.times { |number| assert_equal (0...20).map { |count| "#{number}.#{count}" }, got.grep(/\A#{number}\./) }
  end

  def test_closing_wakes_the_reader
    server = peers { |peer| peer.read && sleep }
    socket = client(server.url).websocket
    reader = Thread.new { socket.read }
    sleep 0.05
    sleep 0.05 until waits?(reader)
    assert_quick { socket.abort }
    assert_nil reader.value
  end

  def test_an_interrupt_closes
    server = peers { |_| sleep }
    http = client(server.url)
    thread = Thread.new { http.websocket(&:read) }
    eventually { http.stats[:in_use] == 1 && waits?(thread) }
    thread.kill.join
    assert_equal 0, http.stats[:in_use]
  end

  def test_fibers
    server = peers(&:echo)
    http = client(server.url)
    Sync do |task|
      tasks = %w[a b c d e].map do |text|
        task.async { http.websocket { |socket| assert_equal text, socket.write(text).read } }
      end
      tasks.each(&:wait)
    end
  end

  def test_refusals
    server = serve { |connection| connection.read_request && connection << response_bytes("no", status: "403 No") }
    assert_equal 403, assert_raises(Trunkline::ClientError) { client(server.url).websocket }.response.status
    plain = serve(response_bytes("page"))
    error = assert_raises(Trunkline::InvalidResponse) { client(plain.url).websocket }
    assert_match(/answered 200, and not 101/, error.message)
    [{ accept: "wrong" }, { "Upgrade" => "other" }, { "Sec-WebSocket-Protocol" => "unasked" },
     { "Sec-WebSocket-Extensions" => "permessage-deflate" }].each do |fields|
      http = client(serve { |connection| WebSocketPeer.new(connection).accept(**fields) && connection.stall }.url)
      assert_raises(Trunkline::InvalidResponse, fields.inspect) { http.websocket }
      assert_equal 0, http.stats[:in_use]
    end
  end

  def test_protocol_errors_of_the_server
    server = peers { |peer| peer.send_frame(:text, "\xFF") && peer.read }
    assert_raises(Trunkline::InvalidResponse) { client(server.url).websocket(&:read) }
    large = peers { |peer| peer.send_frame(:text, "x" * 2000) && peer.read }
    assert_raises(Trunkline::BodyTooLarge) { client(large.url).websocket(max_message_bytes: 1000, &:read) }
  end

  def test_messages_before_a_protocol_error_are_delivered
    breach = WebSocketPeer.frame(:text, "fine") + WebSocketPeer.frame(3, "no opcode")
    server = peers(behind: breach, &:read)
    socket = client(server.url).websocket
    assert_equal "fine", socket.read
    assert_raises(Trunkline::InvalidResponse) { socket.read }
    assert_nil socket.read
  end

  def test_protocols_credentials_and_policies
    server = peers("Sec-WebSocket-Protocol" => "b", &:echo)
    http = client(server.url, bearer: "secret", cache: true, retry: true)
    http.websocket(protocols: %w[a b], headers: { "X-A" => "1" }) { |socket| assert_equal "b", socket.protocol }
    request = server.requests.first
    assert_equal ["a, b", "Bearer secret", "1"],
                 [request["sec-websocket-protocol"], request["authorization"], request["x-a"]]
  end

  def test_compressed
    server = peers("Sec-WebSocket-Extensions" => "permessage-deflate; server_no_context_takeover") do |peer|
      sent = peer.read
      peer.send_frame(:text, "small" * sent.payload.bytesize)
      peer.echo
    end
    client(server.url).websocket(compress: true) do |socket|
      assert_operator socket.write("a" * 10_000).read.bytesize, :<, 1000
    end
  end

  def test_an_open_socket_counts_as_a_connection_in_use
    server = peers(&:echo)
    http = client(server.url, max_connections_per_host: 1, timeout: { queue: 0.1 })
    socket = http.websocket
    assert_raises(Trunkline::QueueTimeout) { http.get("/") }
    socket.close
    http.websocket(&:protocol)
  end

  def test_bad_arguments
    http = client("http://127.0.0.1:1")
    { protocols: ["a b"], compress: 1, max_message_bytes: 0, ping: 0 }.each do |name, value|
      error = assert_raises(Trunkline::InvalidRequest) { http.websocket("/", **{ name => value }) }
      assert_match(/\A#{name}: /, error.message)
    end
    server = peers(&:echo)
    socket = opened_socket(client(server.url).websocket)
    assert_raises(Trunkline::InvalidRequest) { socket.write("\xFF") }
    assert_raises(Trunkline::InvalidRequest) { socket.write(nil) }
    assert_raises(Trunkline::InvalidRequest) { socket.ping("x" * 126) }
  end

  private

  # JRuby does not report a thread that waits for a Java selector as stopped.
  def waits?(thread) = thread.stop? || RUBY_ENGINE == "jruby"

  def assert_handshake(request)
    fields = %w[upgrade connection sec-websocket-version].map { |name| request[name] }
    assert_equal ["GET", "/chat?a=1", "websocket", "Upgrade", "13"], [request.verb, request.target, *fields]
  end
end
