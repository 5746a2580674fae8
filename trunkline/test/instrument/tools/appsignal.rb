# frozen_string_literal: true

require "faraday"
require_relative "../../facades/net_http/agents/watched/appsignal"
require_relative "tool_test" # after the tool, so that its tests run before the tool's exit hooks
require "trunkline/instrument/appsignal"

class TestAppSignal < ToolTest
  # The library that LEVEL makes the tool instrument reports through the tool; the other reports through Trunkline.
  NET_HTTP, FARADAY = ENV["LEVEL"] == "faraday" ? %w[trunkline faraday] : %w[net_http trunkline]

  # AppSignal's extension is a binary from its own servers and is not installed: calls of the transaction are recorded
  # here.
  RECORDED = Array.new(0)
  Appsignal::Transaction.prepend(Module.new do
    def record_event(*said, **facts)
      RECORDED << [*said, facts]
      super
    end
  end)

  def calls(&block)
    RECORDED.clear
    finished = Watched.watch(&block).select { |event| event[0] == :finish }.map { |event| event[1] }
    finished + RECORDED.map(&:first)
  end

  def test_every_call_style_is_reported
    each_call_style do |style, call|
      assert_equal ["request.trunkline"], calls { call.call(client, :get, "/ok?api_key=s3cret") }, style
      assert_equal "GET #{server.url("")}", RECORDED[0][1], style
      assert_operator RECORDED[0][3], :>, 0, style
      assert_equal :client, RECORDED[0][-1][:opentelemetry_kind], style
      refute_includes RECORDED.to_s, "s3cret", style
    end
  end

  # The first attempt is cancelled when the second gets its response.
  def test_hedged_attempts
    each_hedged_way do |style, call|
      assert_equal ["request.trunkline"] * 2, calls { call.call }, style
      assert_equal [["cancelled", nil], [nil, 200]],
                   RECORDED.map { |event|
                     event[-1][:opentelemetry_attributes].values_at("error.type", "http.response.status_code")
                   }, style
    end
  end

  def test_calls_through_facades_are_reported_once
    assert_equal ["request.#{NET_HTTP}"], calls { through_net_http }
    assert_equal ["request.#{FARADAY}"], calls { through_faraday }
  end
end
