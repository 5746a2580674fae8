# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/descriptor_on_jruby" if RUBY_ENGINE == "jruby"

# The options bind:, tcp_keepalive: and tcp_user_timeout:, as the server and the kernel see their effects.
class TestSocketOptions < TrunklineTest
  def peers(server) = server.connections.map { |connection| connection.tcp.remote_address.ip_address }

  # Returns the client's socket of its only connection, made from its descriptor.
  def socket_of(response)
    port = response.connection.address[/\d+\z/].to_i
    return DescriptorOnJRuby.connected_to(port) || flunk("no socket to port #{port}") if RUBY_ENGINE == "jruby"

    LeakCheck.descriptors.each do |number, target|
      next unless target.start_with?("socket:")

      socket = BasicSocket.for_fd(number).tap { |found| found.autoclose = false }
      return socket if socket.remote_address.ip_port == port && socket.local_address.ip_port != port
    rescue SystemCallError, SocketError
      next
    end
    flunk "no socket is connected to port #{port}"
  end

  LEVELS = { SOCKET: Socket::SOL_SOCKET, TCP: Socket::IPPROTO_TCP }.freeze
  # Linux: asm-generic/socket.h, linux/tcp.h
  NAMES = { KEEPALIVE: 9, KEEPIDLE: 4, KEEPINTVL: 5 }.freeze

  def option(socket, level, name)
    return socket.getsockopt(level, name).int unless RUBY_ENGINE == "jruby"

    socket.option(LEVELS.fetch(level), NAMES.fetch(name, name))
  end

  def test_a_local_address
    server = serve { |connection| connection << response_bytes while connection.read_request }
    http = client(bind: "127.0.0.2")
    http.get(server.url)
    http.get(server.url, bind: "127.0.0.3")
    http.get(server.url)
    http.get(server.url, bind: nil)
    assert_equal %w[127.0.0.2 127.0.0.3 127.0.0.1], peers(server)
  end

  def test_an_interface
    server = serve
    responses = [nil, "lo"].map { |interface| client(bind: interface).get(server.url) }
    assert_equal %w[ok ok], responses.map(&:body)
    assert_different_connection(*responses)
    error = assert_raises_with(Trunkline::ConnectError, phase: :connect, sent: :none) do
      client(bind: "nosuch0").get(serve.url)
    end
    assert_match(/No such device/, error.message)
  end

  def test_an_address_that_is_not_this_machines
    error = assert_raises_with(Trunkline::ConnectError, phase: :connect) { client(bind: "192.0.2.1").get(serve.url) }
    assert_match(/Cannot assign requested address/, error.message)
  end

  def test_an_address_of_the_other_family
    error = assert_raises_with(Trunkline::ConnectError, phase: :connect) { client(bind: "::1").get(serve.url) }
    assert_match(/Cannot assign requested address/, error.message)
  end

  def test_keepalive_probes
    usual = socket_of(client.get(serve.url))
    assert_equal 1, option(usual, :SOCKET, :KEEPALIVE)
    assert_equal [30, 10], [option(usual, :TCP, :KEEPIDLE), option(usual, :TCP, :KEEPINTVL)]
    own = socket_of(client(tcp_keepalive: { idle: 7, interval: 3 }).get(serve.url))
    assert_equal [7, 3], [option(own, :TCP, :KEEPIDLE), option(own, :TCP, :KEEPINTVL)]
    none = socket_of(client(tcp_keepalive: false).get(serve.url))
    assert_equal 0, option(none, :SOCKET, :KEEPALIVE)
  end

  def test_user_timeout
    assert_equal 0, option(socket_of(client.get(serve.url)), :TCP, 18)
    assert_equal 2500, option(socket_of(client(tcp_user_timeout: 2.5).get(serve.url)), :TCP, 18)
  end

  def test_connections_made_otherwise_are_not_used
    server = serve
    http = client
    first = http.get(server.url)
    [{ tcp_keepalive: 5 }, { tcp_user_timeout: 5 }, { bind: "127.0.0.1" }].each do |other|
      assert_different_connection first, http.get(server.url, other)
    end
    assert_same_connection first, http.get(server.url)
  end
end
