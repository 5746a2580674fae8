# frozen_string_literal: true

require "socket"
require "tmpdir"
require_relative "../../test_helper"
require "trunkline/net_http"

# Subclasses of Net::HTTP that override #connect, like Datadog's and Docker clients', keep their own sockets.
class TestOverriddenConnect < TrunklineTest
  # Net::HTTP over a Unix socket.
  class OverUnixSocket < Net::HTTP
    def self.to(path) = new("socket.test", 80).tap { |http| http.instance_variable_set(:@path, path) }

    private

    def connect
      @socket = Net::BufferedIO.new(UNIXSocket.new(@path), read_timeout: 5)
    end
  end

  def setup
    super
    @folder = Dir.mktmpdir("socket")
    @server = serve(unix: File.join(@folder, "http.sock"))
    Trunkline::NetHTTP.install!
  end

  def teardown
    Trunkline::NetHTTP.uninstall!
    super
  ensure
    FileUtils.remove_entry(@folder)
  end

  def test_sessions
    bodies = http.start { |session| [session.get("/a").body, session.post("/b", "1").body] }

    assert_equal %w[ok ok], bodies
    assert_equal [%w[GET /a], %w[POST /b]], targets
    assert_equal 1, @server.connection_count
  end

  def test_calls_without_start
    assert_equal "ok", http.get("/a").body
    assert_equal "ok", http.request_post("/b", "1").body
    assert_equal [%w[GET /a], %w[POST /b]], targets
  end

  private

  def http = OverUnixSocket.to(File.join(@folder, "http.sock"))
  def targets = @server.requests.map { |request| [request.verb, request.target] }
end
