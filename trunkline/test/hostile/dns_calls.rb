# frozen_string_literal: true

require "securerandom"
require_relative "../support/fibers"
require_relative "../support/http2/http2_test"
require_relative "../support/name_server"
require_relative "caller"
require_relative "dns_cases"

# Runs each case of a bad name server, for plain HTTP/1.1, TLS and HTTP/2, in every way to call and through the facades:
# the call must end as the table says, and the next call of the same client must get its response. test_dns_cases.rb
# runs this program where the test controls the name server (NetworkNamespace).
class HostileDNSCalls < HTTP2Test
  include HostileCaller

  HostileDNS::ALL.each do |name, row|
    %i[plain tls h2].each do |over|
      define_method(:"test_#{name}_over_#{over}") { each_call(row, over) }
      define_method(:"test_#{name}_over_#{over}_through_the_facades") { each_facade(row, over) }
    end
  end

  private

  # The bad name is random, so that no lookup by another test is running for it.
  def good_and_bad(row, over)
    opened(NameServer.new(&row.answer))
    server = good(over)
    [server.url(host: "localhost"), server.url(host: "bad-#{SecureRandom.hex(6)}.test")]
  end

  def good(over)
    return serve_frames(tls: true) { |stream| stream.answer("good") } if over == :h2

    serve(response_bytes("good"), **(over == :tls ? { tls: TestCA.server_context } : {}))
  end

  def version(over) = over == :h2 ? { http: :h2 } : {}

  def each_call(row, over)
    good, bad = good_and_bad(row, over)
    styles = CallStyles::CALL_STYLES.slice(*TESTED_STYLES)
    styles = { **styles, fiber: ->(*call) { Sync { CallStyles::CALL_STYLES[:alone].call(*call) } } } if FIBERS
    styles.each do |style, call|
      http = secure_client(**version(over), **row.options)
      check_name(row, style, result_of { call.call(http, :get, bad, {}) }) do
        http.get(good, timeout: HostileDNS::AMPLE).body
      end
    end
  end

  def check_name(row, style, error)
    assert_equal "Trunkline::#{row.expected}", error.class.name, "#{style}: #{error.inspect[0, 300]}"
    assert_equal :none, error.sent, style
    assert_match(/127\.1\.\d/, error.message, style) if row.expected == :ConnectError
    assert_equal "good", yield, style
  end

  # The Net::HTTP facade speaks only HTTP/1.1.
  def each_facade(row, over)
    good, bad = good_and_bad(row, over)
    faraday_to(row, bad, good, **version(over), **{ egress: row.egress }.compact)
    typhoeus_to(row, bad, good, **(over == :h2 ? { http_version: :httpv2_0 } : {}))
    net_http_to(row, URI(bad), URI(good)) unless over == :h2
  end

  def faraday_to(row, bad, good, **adapter)
    http = Faraday.new(ssl: { ca_file: TestCA.ca_file }) { |one| one.adapter :trunkline, **adapter }
    get = ->(url, limit) { http.get(url) { |request| request.options.open_timeout = limit }.body }
    error = assert_raises(Faraday::Error) { get.call(bad, row.limit) }
    check_name(row, :faraday, error.wrapped_exception) { get.call(good, HostileDNS::AMPLE) }
  ensure
    http&.close
  end

  def typhoeus_to(row, bad, good, **options)
    Typhoeus::Config.policies = { egress: row.egress }.compact
    get = ->(url, limit) { Typhoeus.get(url, cainfo: TestCA.ca_file, connecttimeout_ms: limit * 1000, **options) }
    code = Trunkline::Facades::Typhoeus::Errors.return_code(Trunkline.const_get(row.expected).new)
    assert_equal code, get.call(bad, row.limit).return_code
    assert_equal "good", get.call(good, HostileDNS::AMPLE).body
  ensure
    Typhoeus::Config.policies = nil
    Trunkline::Facades::Typhoeus::RequestConfig.connections.close_idle
  end

  # A Net::HTTP session calls only one host; the two sessions share the connections of one client.
  def net_http_to(row, bad, good)
    Trunkline::NetHTTP.install!(**{ egress: row.egress }.compact)
    options = { use_ssl: bad.scheme == "https", ca_file: TestCA.ca_file }
    get = lambda do |uri, limit|
      Net::HTTP.start(uri.host, uri.port, open_timeout: limit, **options) { |http| http.get("/").body }
    end
    error = assert_raises(StandardError) { get.call(bad, row.limit) }
    check_name(row, :net_http, error.cause) { get.call(good, HostileDNS::AMPLE) }
  ensure
    Trunkline::NetHTTP.uninstall!
  end
end
