# frozen_string_literal: true

require "faraday"
require_relative "../../facades/net_http/agents/watched/sentry"
require_relative "tool_test" # after the tool, so that its tests run before the tool's exit hooks
require "trunkline/instrument/sentry"

class TestSentry < ToolTest
  # The library that LEVEL makes the tool instrument reports through the tool; the other reports through Trunkline.
  NET_HTTP, FARADAY = ENV["LEVEL"] == "faraday" ? %w[trunkline faraday] : %w[net_http trunkline]

  def seen(&block) = Watched.watch(&block)

  def test_every_call_style_is_reported
    each_call_style do |style, call|
      before = server.raw_requests.size
      report = seen { call.call(client, :get, "/ok?page=1&api_key=s3cret") }

      assert_equal [["http.client", "auto.http.trunkline", 200]],
                   report[:spans].map { |span|
                     [span[:op], span[:origin], span[:data]["http.response.status_code"]]
                   }, style
      assert_equal 1, report[:breadcrumbs].size, style
      assert_match(/\A\h{32}-\h{16}-1\z/, sent("sentry-trace")[before], style)
      assert sent("baggage")[before], style
      refute_includes report.to_s, "s3cret", style
    end
  end

  # The first attempt is cancelled when the second gets its response.
  def test_hedged_attempts
    each_hedged_way do |style, call|
      before = server.raw_requests.size
      report = seen { call.call }

      assert_equal [[nil, "cancelled"], [200, nil]],
                   report[:spans].map { |span|
                     [span[:data]["http.response.status_code"], span[:status]]
                   }, style
      assert_equal 1, report[:breadcrumbs].size, style
      assert_equal 2, sent("sentry-trace").drop(before).uniq.size, style
    end
  end

  def test_errors
    report = seen { assert_raises(Trunkline::ConnectionClosed) { client.post("/closed") } }

    assert_equal ["internal_error"], report[:spans].map { |span| span[:status] }
  end

  def test_calls_through_facades_are_reported_once
    assert_equal(["auto.http.#{NET_HTTP}"], seen { through_net_http }[:spans].map { |span| span[:origin] })
    assert_equal(["auto.http.#{FARADAY}"], seen { through_faraday }[:spans].map { |span| span[:origin] })
  end
end
