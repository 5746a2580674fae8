# frozen_string_literal: true

require_relative "../test_helper"
require "faraday"
require "faraday/adapter/trunkline"
require "net/http"
require "trunkline/net_http"

# The options cookies: and deprecations: of programs that use Trunkline through another library's API.
class TestCookiesAndDeprecations < TrunklineTest
  def setup
    @reported = []
    @options = { cookies: true, deprecations: ->(deprecation) { @reported << deprecation.endpoint[/\S+\z/] } }
    @server = serve(response_bytes("in", "Set-Cookie" => "sid=1; Path=/", "Deprecation" => "true"))
  end

  def assert_kept_and_reported
    assert_equal [nil, "sid=1"], @server.requests.map { |request| request["Cookie"] }
    assert_equal [@server.url("/a")], @reported
  end

  def test_net_http
    Trunkline::NetHTTP.install!(**@options)
    2.times { assert_equal "in", Net::HTTP.get(URI(@server.url("/a"))) }
    assert_kept_and_reported
  ensure
    Trunkline::NetHTTP.install!
    Trunkline::NetHTTP.uninstall!
  end

  def test_faraday
    connection = Faraday.new(@server.url) { |faraday| faraday.adapter :trunkline, **@options }
    2.times { assert_equal "in", connection.get("/a").body }
    assert_kept_and_reported
    connection.close
  end

  TYPHOEUS = <<~'RUBY'
    require "trunkline/typhoeus"
    reported = []
    Typhoeus::Config.policies = { cookies: true, deprecations: ->(deprecation) { reported << deprecation.endpoint } }
    hydra = Typhoeus::Hydra.new
    2.times do
      hydra.queue(Typhoeus::Request.new("#{ARGV[0]}/a"))
      hydra.run
      Typhoeus.get("#{ARGV[0]}/b")
    end
    puts reported
  RUBY

  def test_typhoeus
    out, err, status = Subprocess.run_command({}, [*Subprocess.command(TYPHOEUS), @server.url("").chomp("/")])
    assert_predicate status, :success?, err
    assert_equal %w[a b].map { |path| "GET #{@server.url("/#{path}")}\n" }.join, out
    assert_equal [nil, *["sid=1"] * 3], @server.requests.map { |request| request["Cookie"] }
  end
end
