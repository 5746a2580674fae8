# frozen_string_literal: true

require_relative "../test_helper"

# Connecting to a server: names, addresses of both families, other addresses, Unix sockets.
class TestSockets < TrunklineTest
  stressable

  def test_ipv6
    server = serve(host: "::1")
    response = client.get(server.url)
    assert_equal "ok", response.body
    assert_equal "[::1]:#{server.port}", server.requests.last["Host"]
    assert_includes response.connection.address, "::1"
  end

  def test_a_name
    server = serve
    response = client.get(server.url(host: "localhost"))
    assert_equal "localhost:#{server.port}", server.requests.last["Host"]
    assert_includes response.connection.address, "127.0.0.1"
  end

  # Runs in a separate process, whose cache does not contain the name yet.
  def test_a_name_is_resolved_once
    result = Subprocess.run(<<~RUBY)
      2.times do
        http = Trunkline.new(timeout: 5)
        p http.get("#{serve.url(host: "localhost")}").timings.resolve.class
        http.close
      end
    RUBY
    assert_equal "Float\nNilClass\n", result.out, result.err
  end

  def test_an_address_needs_no_resolver
    assert_nil client.get(serve.url).timings.resolve
  end

  def test_a_unix_socket
    Dir.mktmpdir do |directory|
      path = File.join(directory, "server.sock")
      server = serve(unix: path)
      http = client("http://unix.test/base", unix: path)
      assert_equal "ok", http.get("/path").body
      assert_equal "unix.test", server.requests.last["Host"]
      assert_same_connection http.get("/"), http.get("/")
      server.stop
    end
  end

  # The certificate is for localhost, whatever the path of the socket.
  def test_tls_over_a_unix_socket
    path = Nginx.unix_path(:tls)
    http = secure_client("https://localhost", unix: path)
    assert_equal Nginx::SMALL, http.get("/small").body
    assert_same_connection http.get("/small"), http.get("/small")
    assert_raises(Trunkline::CertificateError) { secure_client("https://example.test", unix: path).get("/small") }
  end

  def test_a_missing_unix_socket
    error = assert_raises_with(Trunkline::ConnectError, phase: :connect, sent: :none) do
      client("http://unix.test", unix: "/nowhere/at-all.sock").get("/")
    end
    assert_includes error.message, "/nowhere/at-all.sock"
  end

  def test_nginx_by_unix_socket
    assert_equal Nginx::SMALL, client("http://localhost", unix: Nginx.unix_path).get("/small").body
  end

  def test_connect_to_for_all_hosts
    server = serve
    response = client(connect_to: "127.0.0.1:#{server.port}").get("http://elsewhere.test/path")
    assert_equal "ok", response.body
    assert_equal "elsewhere.test", server.requests.last["Host"]
    assert_nil response.timings.resolve
  end

  def test_connect_to_for_one_host
    elsewhere = serve(response_bytes("elsewhere"))
    other = serve(response_bytes("other"))
    http = client(connect_to: { "elsewhere.test:80" => "127.0.0.1:#{elsewhere.port}" })
    assert_equal "elsewhere", http.get("http://elsewhere.test/").body
    assert_equal "other", http.get(other.url).body
  end

  def test_connect_to_by_name
    server = serve
    assert_equal "ok", client(connect_to: "localhost:#{server.port}").get("http://elsewhere.test/").body
  end

  # RFC 8305: an address that refuses the connection costs no time: the other family is tried at once.
  def test_a_server_on_one_family_is_found
    only4 = serve
    assert_quick(0.5) { assert_equal "ok", client.get(only4.url(host: "localhost")).body }
  end

  def test_a_name_that_does_not_exist
    seconds, error = raised_after(Trunkline::ResolveError) { client(timeout: 5).get("http://no-such-name.invalid/") }
    assert_facts error, phase: :resolve, sent: :none
    assert_took_less 4.9, seconds
  end

  # The time that a resolver takes depends on the machine; the call must never wait longer than its timeout.
  def test_a_slow_resolver_is_abandoned_at_the_timeout
    http = client(timeout: { resolve: 0.1, total: 5 })
    seconds, error = raised_after(Trunkline::ResolveTimeout, Trunkline::ResolveError) do
      http.get("http://no-such-name-#{rand(1 << 32)}.invalid/")
    end
    assert_took_less 0.1 + Assertions::TOLERANCE, seconds
    assert_equal :resolve, error.phase
  end

  def test_an_international_name
    server = serve
    client(connect_to: "127.0.0.1:#{server.port}").get("http://bücher.test/")
    assert_equal "xn--bcher-kva.test", server.requests.last["Host"]
  end

  def test_an_international_name_is_checked_in_ascii
    server = serve_tls(identity: :example)
    assert_equal "ok", secure_client(connect_to: "127.0.0.1:#{server.port}").get("https://bücher.test/").body
  end

  def test_sockets_are_not_inherited_by_programs
    http = client(serve.url)
    http.get("/")
    refute_empty connections("/proc/#{Process.pid}/fd")
    assert_empty connections("/proc/self/fd") # the descriptors of ls
  end

  private

  # Returns the TCP sockets among the descriptors that a child program sees in that folder. Programs started by JRuby
  # inherit a socket of Java's that is not TCP.
  def connections(folder)
    tcp = %w[tcp tcp6].flat_map { |table| File.readlines("/proc/net/#{table}").drop(1).map { |line| line.split[9] } }
    IO.popen(["ls", "-l", folder], &:read).scan(/socket:\[(\d+)\]/).flatten & tcp
  end
end
