# frozen_string_literal: true

require "faraday"
require_relative "../../facades/net_http/agents/watched/datadog"
require_relative "tool_test" # after the tool, so that its tests run before the tool's exit hooks
require "trunkline/instrument/datadog"

class TestDatadog < ToolTest
  # The library that LEVEL makes the tool instrument reports through the tool; the other reports through Trunkline.
  NET_HTTP, FARADAY = ENV["LEVEL"] == "faraday" ? %w[trunkline faraday] : %w[net/http trunkline]

  def calls(&block)
    Watched::WRITER.traces.clear
    @parent = nil
    Datadog::Tracing.trace("parent") do |span|
      @parent = span
      block.call
    end
    Watched::WRITER.traces.flat_map(&:spans).reject { |span| span.name == "parent" }
  end

  def test_every_call_style_is_reported
    each_call_style do |style, call|
      before = server.raw_requests.size
      span, *more = calls { call.call(client, :get, "/ok?api_key=s3cret") }

      assert_empty more, style
      assert_equal ["http.request", "GET", "http", @parent.id, @parent.trace_id],
                   [span.name, span.resource, span.type, span.parent_id, span.trace_id], style
      assert_equal ["trunkline", "client", "/ok", "200"],
                   span.meta.values_at("component", "span.kind", "http.url", "http.status_code"), style
      assert_equal span.id.to_s, sent("x-datadog-parent-id")[before], style
    end
  end

  # The first attempt is cancelled when the second gets its response.
  def test_hedged_attempts
    each_hedged_way do |style, call|
      before = server.raw_requests.size
      spans = calls { call.call }

      assert_equal [["http.request", nil, "true", 0], ["http.request", "200", nil, 0]],
                   spans.map { |span|
                     [span.name, *span.meta.values_at("http.status_code", "trunkline.cancelled"), span.status]
                   }, style
      assert_equal [@parent.id], spans.map(&:parent_id).uniq, style
      assert_equal spans.map { |span| span.id.to_s }, sent("x-datadog-parent-id").drop(before), style
    end
  end

  def test_errors
    assert_equal [1], calls { assert_raises(Trunkline::ConnectionClosed) { client.post("/closed") } }.map(&:status)
    assert_equal [1], calls { client(raise: false).get("/failing") }.map(&:status)
  end

  def test_without_a_trace
    Watched::WRITER.traces.clear
    client.get("/ok")

    assert_equal ["http.request"], Watched::WRITER.traces.flat_map(&:spans).map(&:name)
  end

  def test_calls_through_facades_are_reported_once
    assert_equal([NET_HTTP], calls { through_net_http }.map { |span| span.meta["component"] })
    assert_equal([FARADAY], calls { through_faraday }.map { |span| span.meta["component"] })
  end
end
