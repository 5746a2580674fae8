# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../support/http2/http2_test"
require_relative "caller"
require_relative "timeout_cases"

# Runs each phase that stalls, over plain HTTP/1.1, TLS and HTTP/2, in every way to call and through the facades with
# their own limits: the call must end by the phase's limit, and the next call of the same client must get its response.
class TestHostileTimeoutCases < HTTP2Test
  include HostileCaller

  HALF_A_BODY = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"

  # The server's behaviour on a connection, and over HTTP/2 on a stream.
  HTTP1 = {
    upload: ->(connection) { connection.read_head_only && sleep },
    first_byte: ->(connection) { connection.read_request && connection.stall },
    head: ->(connection) { connection.read_request && (connection << "HTTP/1.1 200 OK\r\nContent-").stall },
    body: ->(connection) { connection.read_request && (connection << HALF_A_BODY).stall }
  }.freeze
  HTTP2 = {
    upload: :stall.to_proc,
    first_byte: :stall.to_proc,
    head: ->(stream) { stream.frame(:headers, 0, "\x88") && stream.stall },
    body: ->(stream) { stream.headers.data("o").stall }
  }.freeze

  HostileTimeouts::ALL.each do |name, row|
    row.over.each do |over|
      define_method(:"test_#{name}_over_#{over}") { each_call(name, row, over) }
      define_method(:"test_#{name}_over_#{over}_through_the_facades") { each_facade(name, row, over) }
    end
  end

  private

  def stalling(name, over)
    case name
    when :connect then opened(FullBacklog.new).url(scheme: over == :plain ? "http" : "https")
    when :handshake then serve(handshake: false, &:stall).url
    else
      return stalling_frames(name) if over == :h2

      serve(**tls(over), &HTTP1.fetch(name)).url
    end
  end

  # The server sends no PING here: any frame between those of a head would be another fault.
  def stalling_frames(name)
    serve_frames(tls: true, grants: name == :upload ? :never : :arrived, quiet: [:ping], &HTTP2.fetch(name)).url
  end

  def good(over)
    return serve_frames(tls: true) { |stream| stream.answer("good") }.url if over == :h2

    serve(response_bytes("good"), **tls(over)).url
  end

  def tls(over) = over == :plain ? {} : { tls: TestCA.server_context }
  def version(over) = over == :h2 ? { http: :h2 } : {}

  # Each way has a separate server: over HTTP/2 no other response can be sent while a head is incomplete.
  def each_call(name, row, over)
    good = good(over)
    options = { timeout: row.timeout, body: row.body }.compact
    fiber = { fiber: ->(*call) { Sync { CallStyles::CALL_STYLES[:alone].call(*call) } } }
    styles = { **CallStyles::CALL_STYLES.slice(*TESTED_STYLES), **(FIBERS ? fiber : {}) }.map do |style, call|
      bad = stalling(name, over)
      http = secure_client(**version(over))
      Thread.new { [style, http, result_of { call.call(http, row.verb, bad, options) }] }
    end
    styles.map(&:value).each do |style, http, result|
      check_timeout(row.expected_over(over), style, result) { http.get(good).body }
    end
  end

  def check_timeout(expected, style, result)
    assert_equal "Trunkline::#{expected}", result.class.name, "#{style}: #{result.inspect[0, 300]}"
    assert_equal "good", yield, style
  end

  # The Net::HTTP facade speaks only HTTP/1.1.
  def each_facade(name, row, over)
    good = good(over)
    bad = stalling(name, over)
    stalled_faraday(row, row.expected_over(over), bad, good, **version(over))
    stalled_typhoeus(row, bad, good, **(over == :h2 ? { http_version: :httpv2_0 } : {}))
    stalled_net_http(row, bad, good) unless over == :h2
  end

  def stalled_faraday(row, expected, bad, good, **adapter)
    ssl = { ca_file: TestCA.ca_file }
    http = Faraday.new(request: row.timeouts, ssl: ssl) { |one| one.adapter :trunkline, **adapter }
    error = assert_raises(Faraday::Error) { row.body ? http.post(bad, row.body) : http.get(bad) }
    check_timeout(expected, :faraday, error.wrapped_exception) do
      http.get(good) { |request| request.options.update(open_timeout: 20, read_timeout: 20) }.body
    end
  ensure
    http&.close
  end

  def stalled_typhoeus(row, bad, good, **options)
    options = { cainfo: TestCA.ca_file, timeout_ms: 700, body: row.body, **options }.compact
    assert_equal :operation_timedout, Typhoeus.public_send(row.verb, bad, **options).return_code
    options.delete(:body)
    assert_equal "good", Typhoeus.get(good, **options, timeout_ms: 20_000).body
  ensure
    Trunkline::Facades::Typhoeus::RequestConfig.connections.close_idle
  end

  def stalled_net_http(row, bad, good)
    error = assert_raises(Timeout::Error) do
      http = Trunkline::PersistentHttpClient.get(bad, ca_file: TestCA.ca_file, **row.timeouts)
      row.body ? http.post("/", row.body) : http.get("/")
    end
    check_timeout(row.expected, :net_http, error.cause) do
      Trunkline::PersistentHttpClient.get(good, ca_file: TestCA.ca_file).get("/").body
    end
  ensure
    Trunkline::PersistentHttpClient.clear
  end
end
