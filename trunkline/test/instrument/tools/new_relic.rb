# frozen_string_literal: true

ENV["NEW_RELIC_MONITOR_MODE"] = "false" # it talks to no service
require_relative "../../facades/net_http/agents/watched/newrelic"
require_relative "tool_test" # its tests run at exit, before what the tool does then
require "trunkline/instrument/new_relic"

class TestNewRelic < ToolTest
  def calls(&block) = Watched.watch(&block).select { |segment| segment.key?(:library) }

  def test_every_way_of_calling
    each_way do |way, call|
      before = server.raw_requests.size
      segments = calls { call.call(client, :get, "/ok?api_key=s3cret") }

      assert_equal [["Trunkline", "GET", 200, "case"]],
                   segments.map { |one| one.values_at(:library, :procedure, :status, :parent) }, way
      assert sent("traceparent")[before], way
      refute_includes segments.to_s, "s3cret", way
    end
  end

  # The first attempt is given up when the second is answered.
  def test_hedged_attempts
    each_hedged_way do |way, call|
      before = server.raw_requests.size
      segments = calls { call.call }

      assert_equal [["Trunkline", nil, { "trunkline.cancelled" => true }], ["Trunkline", 200, {}]],
                   segments.map { |one| one.values_at(:library, :status, :custom) }, way
      assert_equal 2, sent("traceparent").drop(before).uniq.size, way
    end
  end

  def test_errors
    segments = calls { assert_raises(Trunkline::ConnectionClosed) { client.post("/closed") } }

    assert_equal ["Trunkline::ConnectionClosed"], segments.map { |segment| segment[:error] }
  end

  def test_facades_are_told_once
    assert_equal(["Net::HTTP"], calls { through_net_http }.map { |segment| segment[:library] })
    assert_equal(["Trunkline"], calls { through_faraday }.map { |segment| segment[:library] })
  end
end
