# frozen_string_literal: true

require "faraday"
require_relative "../../facades/net_http/agents/watched/appsignal"
require_relative "tool_test" # its tests run at exit, before what the tool does then
require "trunkline/instrument/appsignal"

class TestAppSignal < ToolTest
  # What LEVEL has the tool watch is told there.
  NET_HTTP, FARADAY = ENV["LEVEL"] == "faraday" ? %w[trunkline faraday] : %w[net_http trunkline]

  # AppSignal's extension is a binary from its own servers: what the transaction is told is kept here.
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

  def test_every_way_of_calling
    each_way do |way, call|
      assert_equal ["request.trunkline"], calls { call.call(client, :get, "/ok?api_key=s3cret") }, way
      assert_equal "GET #{server.url("")}", RECORDED[0][1], way
      assert_operator RECORDED[0][3], :>, 0, way
      assert_equal :client, RECORDED[0][-1][:opentelemetry_kind], way
      refute_includes RECORDED.to_s, "s3cret", way
    end
  end

  # The first attempt is given up when the second is answered.
  def test_hedged_attempts
    each_hedged_way do |way, call|
      assert_equal ["request.trunkline"] * 2, calls { call.call }, way
      assert_equal [["cancelled", nil], [nil, 200]],
                   RECORDED.map { |event|
                     event[-1][:opentelemetry_attributes].values_at("error.type", "http.response.status_code")
                   }, way
    end
  end

  def test_facades_are_told_once
    assert_equal ["request.#{NET_HTTP}"], calls { through_net_http }
    assert_equal ["request.#{FARADAY}"], calls { through_faraday }
  end
end
