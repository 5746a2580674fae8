# frozen_string_literal: true

ENV["NEW_RELIC_MONITOR_MODE"] = "false" # no connection to New Relic's service
require_relative "../../facades/net_http/agents/watched/newrelic"
require_relative "tool_test" # after the tool, so that its tests run before the tool's exit hooks
require "trunkline/instrument/new_relic"

class TestNewRelic < ToolTest
  def calls(&block) = Watched.watch(&block).select { |segment| segment.key?(:library) }

  def test_every_call_style_is_reported
    each_call_style do |style, call|
      before = server.raw_requests.size
      segments = calls { call.call(client, :get, "/ok?api_key=s3cret") }

      assert_equal [["Trunkline", "GET", 200, "case"]],
                   segments.map { |one| one.values_at(:library, :procedure, :status, :parent) }, style
      assert sent("traceparent")[before], style
      refute_includes segments.to_s, "s3cret", style
    end
  end

  # The first attempt is cancelled when the second gets its response.
  def test_hedged_attempts
    each_hedged_way do |style, call|
      before = server.raw_requests.size
      segments = calls { call.call }

      assert_equal [["Trunkline", nil, { "trunkline.cancelled" => true }], ["Trunkline", 200, {}]],
                   segments.map { |one| one.values_at(:library, :status, :custom) }, style
      assert_equal 2, sent("traceparent").drop(before).uniq.size, style
    end
  end

  def test_errors
    segments = calls { assert_raises(Trunkline::ConnectionClosed) { client.post("/closed") } }

    assert_equal ["Trunkline::ConnectionClosed"], segments.map { |segment| segment[:error] }
  end

  def test_calls_through_facades_are_reported_once
    assert_equal(["Net::HTTP"], calls { through_net_http }.map { |segment| segment[:library] })
    assert_equal(["Trunkline"], calls { through_faraday }.map { |segment| segment[:library] })
  end
end
