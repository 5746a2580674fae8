# frozen_string_literal: true

require_relative "../test_helper"

# Proxies that refuse, stall, send wrong replies or close the connection: the call fails with one clear error, and
# nothing reaches the server.
class TestProxyFaults < TrunklineTest
  TARGET = "https://api.test/secret?token=1"
  SOCKS_GRANTED = "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00".b

  def connect_through(proxy, scheme: "http", url: TARGET, **options)
    secure_client(proxy: "#{scheme}://#{proxy.address}", **options).get(url)
  end

  # Returns the error of a call when the HTTP proxy responds to CONNECT with these bytes.
  def refused_by(bytes, **options)
    proxy = serve do |connection|
      connection.read_request
      connection << bytes
    end
    assert_raises_with(Trunkline::ProxyError, phase: :connect, sent: :none) { connect_through(proxy, **options) }
  end

  def socks_error(*steps, **options)
    proxy = serve(script: [steps])
    assert_raises_with(Trunkline::ProxyError, phase: :connect, sent: :none, status: nil) do
      connect_through(proxy, scheme: "socks5h", **options)
    end
  end

  def reading(count) = ->(connection) { connection.read_exactly(count) }

  def test_a_connect_request_has_only_the_host
    proxy = serve(response_bytes("no", status: "403 Forbidden"))
    assert_raises(Trunkline::ProxyError) { connect_through(proxy, headers: { "Authorization" => "Bearer secret" }) }
    assert_equal "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n", proxy.raw_requests.last
  end

  def test_the_error_has_status_headers_and_body_of_a_refusal
    error = refused_by(response_bytes("go away", status: "403 Not You", "X-Why" => "policy"))
    assert_equal 403, error.status
    assert_equal "policy", error.headers["X-Why"]
    assert_equal "go away", error.body
    assert_match(%r{GET /secret at api\.test:443}, error.message)
    assert_match(/proxy 127\.0\.0\.1:\d+: 403 Not You/, error.message)
    refute_match(/token/, error.message)
  end

  def test_a_refusal_in_chunks_until_close_and_after_a_1xx
    assert_equal "go away", refused_by(chunked_response("go ", "away").sub("200 OK", "502 Bad")).body
    assert_equal "go away", refused_by("HTTP/1.0 502 Bad\r\n\r\ngo away").body
    assert_equal "go", refused_by("HTTP/1.1 102 Wait\r\n\r\n#{response_bytes("go", status: "403 No")}").body
  end

  def test_the_body_of_a_refusal_is_truncated_when_long_and_partial_when_it_stalls
    assert_equal 16_384, refused_by(response_bytes("x" * 100_000, status: "500 Sorry")).body.bytesize
    stalling = serve(script: [[:read, "HTTP/1.1 407 Who\r\nContent-Length: 9\r\n\r\nhalf", :stall]])
    error = assert_raises_with(Trunkline::ProxyError, status: 407, body: "half") do
      connect_through(stalling, timeout: { connect: 0.5, total: 5 })
    end
    assert_match(/407 Who/, error.message)
  end

  def test_a_redirect_in_response_to_connect_is_not_followed
    assert_equal 302, refused_by(redirect("https://elsewhere.test/"), follow: 3).status
  end

  def test_bytes_after_the_response_to_connect
    error = refused_by("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    assert_nil error.status
    assert_match(/40 bytes followed its answer to CONNECT/, error.message)
  end

  def test_a_response_to_connect_that_is_no_http
    assert_match(/not HTTP: the status line is malformed: "SSH-2.0-OpenSSH_9.2\\x0D\\x0A/,
                 refused_by("SSH-2.0-OpenSSH_9.2\r\n\r\n").message)
    assert_match(/closed the connection/, refused_by("").message)
    assert_match(/closed the connection/, refused_by("HTTP/1.1 200").message)
  end

  def test_a_head_without_end
    error = refused_by("HTTP/1.1 200 OK\r\nX-Long: #{"x" * 70_000}")
    assert_match(/too large/, error.message)
  end

  def test_a_stall_in_connect_is_within_the_connect_timeout
    proxy = serve(script: [%i[read stall]])
    took, error = raised_after(Trunkline::ConnectTimeout) do
      connect_through(proxy, timeout: { connect: 0.3, total: 5 })
    end
    assert_took 0.3, took, 0.15
    assert_facts error, phase: :connect, sent: :none
    assert_match(/proxy 127\.0\.0\.1:\d+ did not open the way to api\.test:443 within 0\.3 s/, error.message)
  end

  def test_the_total_timeout_covers_connect
    proxy = serve(script: [%i[read stall]])
    assert_raises_with(Trunkline::TotalTimeout, phase: :connect, sent: :none) { connect_through(proxy, timeout: 0.3) }
  end

  def test_a_response_to_connect_byte_by_byte
    server = serve_tls
    proxy = serve do |connection|
      target = connection.read_request.target
      connection.drip("HTTP/1.1 200 Connection established\r\n\r\n", every: 0.002)
      relay(connection, target)
    end
    assert_equal "ok", connect_through(proxy, url: server.url).body
  end

  def test_an_interrupt_during_connect_closes_the_connection
    proxy = serve(script: [%i[read stall]])
    thread = Thread.new { connect_through(proxy) }
    thread.report_on_exception = false
    proxy.wait_for_requests(1)
    thread.raise(Interrupt)
    assert_raises(Interrupt) { thread.join(2) }
    assert_equal :eof, proxy.ended
  end

  def test_an_unreachable_proxy_is_named
    error = assert_raises_with(Trunkline::ConnectError, phase: :connect, sent: :none) do
      client(proxy: "http://127.0.0.1:#{refused_port}").get(TARGET)
    end
    assert_match(/proxy 127\.0\.0\.1:\d+: .*refused/, error.message)
    assert_match(/api\.test:443/, error.message)
    error = assert_raises_with(Trunkline::ResolveError, phase: :resolve) do
      client(proxy: "http://proxy.invalid:8080").get(TARGET)
    end
    assert_match(/proxy proxy\.invalid:8080/, error.message)
  end

  def test_an_https_proxy_that_stalls_in_its_handshake
    proxy = serve(script: [[:stall]])
    error = assert_raises_with(Trunkline::TLSTimeout, phase: :tls, sent: :none) do
      connect_through(proxy, scheme: "https", timeout: { tls: 0.2, total: 5 })
    end
    assert_match(/127\.0\.0\.1:\d+ did not complete/, error.message)
  end

  def test_a_socks_proxy_gets_the_name
    seen = nil
    proxy = serve do |connection|
      connection.read_exactly(3)
      connection << "\x05\x00"
      seen = connection.read_exactly(4 + 1 + 8 + 2)
      connection << SOCKS_GRANTED
      connection.read_request
      connection << response_bytes
    end
    response = connect_through(proxy, scheme: "socks5h", url: "http://api.test:8080/")
    assert_equal "ok", response.body
    assert_equal "\x05\x01\x00\x03\x08api.test\x1f\x90".b, seen
  end

  def test_a_socks_reply_is_read_to_its_last_byte_and_no_further
    { "\x03\x04name".b => 0, "\x04#{"\0" * 16}".b => 0, "\x01\0\0\0\0".b => 0 }.each_key do |address|
      proxy = serve do |connection|
        connection.read_exactly(3)
        connection << "\x05\x00"
        connection.read_exactly(15)
        connection.drip("\x05\x00\x00#{address}\x00\x50".b, every: 0.001)
        connection.read_request
        connection << response_bytes
      end
      assert_equal "ok", connect_through(proxy, scheme: "socks5h", url: "http://api.test:8080/").body
    end
  end

  def test_socks_refusals_in_words
    { 1 => /general SOCKS server failure/, 2 => /not allowed by its rules/, 3 => /network unreachable/,
      4 => /host unreachable/, 5 => /connection refused/, 6 => /TTL expired/, 7 => /command not supported/,
      8 => /address type not supported/, 99 => /unknown SOCKS error \(SOCKS reply 99\)/ }.each do |code, words|
      error = socks_error(reading(3), "\x05\x00", reading(15), "\x05#{code.chr}\x00\x01\0\0\0\0\0\0")
      assert_match words, error.message
    end
  end

  def test_socks_that_is_none_or_breaks_off
    assert_match(/not SOCKS 5/, socks_error(reading(3), "HTTP/1.1 400 Bad\r\n\r\n").message)
    assert_match(/wants a user/, socks_error(reading(3), "\x05\xFF").message)
    assert_match(/authentication 1, which was not offered/, socks_error(reading(3), "\x05\x01").message)
    assert_match(/authentication 2, which was not offered/, socks_error(reading(3), "\x05\x02").message)
    assert_match(/malformed/, socks_error(reading(3), "\x05\x00", reading(15), "\x04\x00\x00\x01\0\0\0\0\0\0").message)
    assert_match(/unknown type 7/, socks_error(reading(3), "\x05\x00", reading(15), "\x05\x00\x00\x07\0\0\0").message)
    assert_match(/closed/, socks_error(reading(3), "\x05").message)
    assert_match(/closed/, socks_error(reading(3), "\x05\x00", reading(15), SOCKS_GRANTED[0, 7]).message)
  end

  def test_a_stall_in_socks
    proxy = serve(script: [[reading(3), "\x05\x00", :stall]])
    assert_raises_with(Trunkline::ConnectTimeout, phase: :connect, sent: :none) do
      connect_through(proxy, scheme: "socks5h", timeout: { connect: 0.2, total: 5 })
    end
  end

  def test_a_name_that_socks5_cannot_resolve_here
    proxy = serve(script: [[:stall]])
    assert_raises_with(Trunkline::ResolveError, phase: :resolve) do
      connect_through(proxy, scheme: "socks5", url: "http://nowhere.invalid/")
    end
    assert_equal 0, proxy.connection_count
  end

  private

  def relay(connection, target)
    host, port = target.split(":")
    server = TCPSocket.new(host, port.to_i)
    ends = { connection.socket => server, server => connection.socket }
    loop do
      IO.select(ends.keys)[0].each { |from| ends[from].write(from.readpartial(16_384)) }
    end
  rescue EOFError, SystemCallError
    server&.close
  end
end
