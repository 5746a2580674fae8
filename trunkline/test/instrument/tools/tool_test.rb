# frozen_string_literal: true

require "minitest/autorun"
require "faraday"
require "net/http"
require "trunkline"
require "trunkline/faraday"
require "trunkline/net_http"
require_relative "../../support/scripted_server"
require_relative "../../support/call_styles"

# Base of the tests of instruments: a server, and the ways in which a call is made.
class ToolTest < Minitest::Test
  include CallStyles

  ANSWERS = {
    "/missing" => Responses.response_bytes("no", status: "404 Not Found"),
    "/failing" => Responses.response_bytes("", status: "503 Busy"),
    "/moved" => "HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n"
  }.freeze

  attr_reader :server

  def setup
    @server = ScriptedServer.new do |connection|
      while (request = connection.read_request)
        break if request.target == "/closed"

        sleep 1 if request.target == "/late" && late_for_the_first_time?
        connection << ANSWERS.fetch(request.target[/\A[^?]*/], Responses.response_bytes("hello"))
      end
    end
  end

  def teardown
    Trunkline::NetHTTP.uninstall!
    server.stop
    Trunkline::Policy::State.clear
  end

  def late_for_the_first_time? = (@late = @late.to_i + 1) == 1

  # Makes a call whose first attempt is late, so that a second attempt gets the response.
  # @yield [way, call] for each way that hedges
  def each_hedged_way
    each_call_style(but: [:streamed]) do |style, call|
      @late = 0
      http = client(hedge: { after: 0.1, max: 1.0 })
      yield style, -> { assert_equal [nil, 200], call.call(http, :get, "/late").attempts.map(&:status), style }
    end
  end

  def client(**options) = Trunkline.new(server.url, timeout: 5, **options)

  def wait_until
    limit = Trunkline::Engine.now + Assertions::PATIENCE
    until yield
      flunk "it did not come to pass" if Trunkline::Engine.now > limit
      sleep 0.05
    end
  end

  # @return [Array<String, nil>] the values of a field in the requests so far
  def sent(name) = server.raw_requests.map { |raw| raw[/^#{name}: ([^\r]*)/i, 1] }

  def through_net_http
    Trunkline::NetHTTP.install!
    Net::HTTP.get_response(URI(server.url("/ok")))
  end

  def through_faraday
    Faraday.new(server.url) { |faraday| faraday.adapter :trunkline }.get("/ok")
  end

  def through_faraday_in_parallel
    faraday = Faraday.new(server.url) { |connection| connection.adapter :trunkline }
    faraday.in_parallel { 2.times { faraday.get("/ok") } }
  end
end
