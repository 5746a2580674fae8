# frozen_string_literal: true

require_relative "../test_helper"
require "faraday"
require "trunkline/faraday"

# The option egress: through the facades, whose users get the errors of the replaced library.
class TestEgressOfFacades < TrunklineTest
  def test_faraday
    server = serve(response_bytes)
    faraday = Faraday.new(server.url) { |one| one.adapter :trunkline, egress: :public }
    error = assert_raises(Faraday::ConnectionFailed) { faraday.get("/") }
    assert_instance_of Trunkline::EgressRefused, error.wrapped_exception
    assert_equal 0, server.connection_count
  ensure
    faraday&.close
  end

  # The second address is one that Trunkline refuses as a host and that the system's resolver accepts.
  NET_HTTP = <<~RUBY
    require "socket"
    require "trunkline/net_http"
    server = TCPServer.new("127.0.0.1", 0)
    Trunkline::NetHTTP.install!(egress: :public)
    ["127.0.0.1", "0x7f.1", "localhost"].each do |host|
      Net::HTTP.get(host, "/", server.addr[1])
    rescue SystemCallError => error
      puts error.class, error.message
    end
    http = Net::HTTP.new("127.0.0.1", server.addr[1])
    http.local_port = 0
    http.local_host = "localhost"
    begin
      http.get("/")
    rescue SystemCallError => error
      puts error.class
    end
    puts server.accept_nonblock(exception: false)
  RUBY
  private_constant :NET_HTTP

  def test_net_http
    result = Subprocess.run(NET_HTTP)
    lines = result.out.lines(chomp: true)
    assert_equal 4, lines.count("Errno::EACCES"), result.out + result.err
    assert_equal "wait_readable", lines.last
    assert_equal 2, lines.grep(/127.0.0.1 is loopback/).size
    assert_equal 1, lines.grep(/egress: holds for Trunkline's connections alone, not with .*0x7f/).size
  end

  def test_typhoeus
    result = Subprocess.run(<<~'RUBY')
      require "socket"
      require "trunkline/typhoeus"
      server = TCPServer.new("127.0.0.1", 0)
      Typhoeus::Config.policies = { egress: :public }
      hydra = Typhoeus::Hydra.new
      queued = Typhoeus::Request.new("http://127.0.0.1:#{server.addr[1]}/")
      hydra.queue(queued)
      hydra.run
      puts queued.response.return_code, Typhoeus.get("http://127.0.0.1:#{server.addr[1]}/").return_code
      puts server.accept_nonblock(exception: false)
    RUBY
    assert_equal "couldnt_connect\ncouldnt_connect\nwait_readable\n", result.out, result.err
  end
end
