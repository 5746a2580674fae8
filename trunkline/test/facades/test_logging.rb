# frozen_string_literal: true

require "logger"
require "stringio"
require_relative "../test_helper"
require "faraday"
require "faraday/adapter/trunkline"
require "net/http"
require "trunkline/net_http"

# The options logger:, log:, curl: and redact: of programs that use Trunkline through another library's API.
class TestLoggingOfFacades < TrunklineTest
  def setup
    @server = serve(response_bytes("in"))
    @out = StringIO.new
    @options = { logger: Logger.new(@out), log: :headers, curl: true, redact: ["pin"] }
  end

  def url = @server.url("/a?pin=SECRET")

  def assert_reported(text, times: 1)
    refute_includes text, "SECRET"
    assert_equal times, text.scan(/ GET \S+\?pin=\[hidden\] 200 in /).size, text
    assert_equal times, text.scan(/^  < 200 OK$/).size
    assert_equal times, text.scan(/^  curl .*pin=\[hidden\]'$/).size
  end

  def test_net_http
    Trunkline::NetHTTP.install!(**@options)
    2.times { assert_equal "in", Net::HTTP.get(URI(url)) }
    assert_reported @out.string, times: 2
  ensure
    Trunkline::NetHTTP.install!
    Trunkline::NetHTTP.uninstall!
  end

  def test_faraday
    connection = Faraday.new(url) { |faraday| faraday.adapter :trunkline, **@options }
    assert_equal "in", connection.get.body
    assert_reported @out.string
    connection.close
  end

  TYPHOEUS = <<~RUBY
    require "trunkline/typhoeus"
    require "logger"
    Typhoeus::Config.policies = { logger: Logger.new($stdout), log: :headers, curl: true, redact: %w[pin] }
    Typhoeus.get(ARGV[0])
    hydra = Typhoeus::Hydra.new
    hydra.queue(Typhoeus::Request.new(ARGV[0]))
    hydra.run
  RUBY

  def test_typhoeus
    out, err, status = Subprocess.run_command({}, [*Subprocess.command(TYPHOEUS), url])
    assert_predicate status, :success?, err
    assert_reported out, times: 2
  end
end
