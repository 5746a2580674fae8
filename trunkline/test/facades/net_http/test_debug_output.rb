# frozen_string_literal: true

require_relative "../../test_helper"
require "logger"
require "net/http"
require "openssl"
require "stringio"
require "zlib"
require "trunkline/net_http"

# With a session that Trunkline runs, set_debug_output receives the lines that Net::HTTP writes.
class TestNetHTTPDebugOutput < TrunklineTest
  # Made once, since it contains the time at which it was made.
  GZIP = Zlib.gzip("unpacked", level: 1)

  CALLS = {
    get: ->(http) { http.get("/text") },
    gzip: ->(http) { assert_body "unpacked", http.get("/gzip") },
    pieces: ->(http) { http.request_get("/gzip") { |response| response.read_body { |piece| piece } } },
    head: ->(http) { http.head("/text") },
    post: ->(http) { http.post("/text", "a=\u{e4}", "Authorization" => "Bearer geheim") },
    stream: lambda do |http|
      request = Net::HTTP::Put.new("/text", "Content-Length" => "6")
      request.body_stream = StringIO.new("stream")
      http.request(request)
    end,
    chunks: lambda do |http|
      request = Net::HTTP::Put.new("/text", "Transfer-Encoding" => "chunked")
      request.body_stream = StringIO.new("stream")
      http.request(request)
    end,
    close: ->(http) { http.get("/close") },
    missing: ->(http) { http.delete("/missing") },
    session: ->(http) { [http.get("/text"), http.get("/text")] }
  }.freeze

  def self.assert_body(expected, response)
    raise "#{response.body.inspect} is not #{expected.inspect}" unless response.body == expected
  end

  def teardown
    Trunkline::NetHTTP.uninstall!
    super
  end

  CALLS.each do |name, call|
    define_method(:"test_the_lines_are_the_same_for_#{name}") do
      plain, ours = both { |output| traced(plain_server, output) { |http| call.call(http) } }
      assert_includes plain, "-> \"HTTP/1.1 "
      assert_equal plain, ours
    end
  end

  def test_tls
    secure = serve_tls
    plain, ours = both do |output|
      traced(secure, output, use_ssl: true, ca_file: TestCA.ca_file) { |http| http.get("/") }
    end
    assert_match(/^SSL established, protocol: TLSv1/, ours)
    # JRuby's Net::HTTP writes only the first letter of the cipher.
    ours = ours.sub(/cipher: T\K\w+/, "") if RUBY_ENGINE == "jruby"
    assert_equal plain, ours
  end

  def test_a_connection_that_was_open_already
    Trunkline::NetHTTP.install!
    server = plain_server
    first, second = Array.new(2) { traced(server, StringIO.new) { |http| http.get("/text") } }
    assert_match(/^opened$/, first)
    assert_match(/^opened before, by another session$/, second)
    assert_equal 1, server.connection_count
  end

  def test_an_error
    Trunkline::NetHTTP.install!
    server = serve { |connection| connection.read_request && connection.close }
    output = StringIO.new
    assert_raises(EOFError) { traced(server, output) { |http| http.get("/") } }
    assert_match(/^Conn close because of error /, output.string)
  end

  # The wire trace of the AWS SDK.
  def test_a_logger
    Trunkline::NetHTTP.install!
    output = StringIO.new
    traced(plain_server, Logger.new(output)) { |http| http.get("/text") }
    assert_includes output.string, "<- \"GET /text HTTP/1.1\\r\\n"
  end

  private

  # @return [Array<String>] the output without install! and with it, without ports
  def both
    [false, true].map do |install|
      install ? Trunkline::NetHTTP.install! : Trunkline::NetHTTP.uninstall!
      output = StringIO.new
      yield output
      output.string.gsub(/(127\.0\.0\.1|localhost):\d+/, "HOST")
    end
  end

  def traced(server, output, **options, &block)
    http = Net::HTTP.new(options[:use_ssl] ? "localhost" : "127.0.0.1", server.port, nil)
    options.each { |name, value| http.public_send(:"#{name}=", value) }
    http.set_debug_output(output)
    http.start(&block)
    output.string if output.is_a?(StringIO)
  end

  def plain_server
    serve { |connection| play(connection) }
  end

  def play(connection)
    while (request = connection.read_request)
      bytes = case request.target
              when "/gzip" then response_bytes(GZIP, "Content-Encoding" => "gzip")
              when "/close" then "HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nuntil the end"
              when "/missing" then response_bytes("gone", status: "404 Not Found")
              else response_bytes("text", "X-A" => "1", "x-b" => "2")
              end
      bytes = bytes[/.*?\r\n\r\n/m] if request.verb == "HEAD"
      connection << bytes
      break if request.target == "/close"
    end
  end
end
