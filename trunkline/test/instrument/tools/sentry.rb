# frozen_string_literal: true

require "faraday"
require_relative "../../facades/net_http/agents/watched/sentry"
require_relative "tool_test" # its tests run at exit, before what the tool does then
require "trunkline/instrument/sentry"

class TestSentry < ToolTest
  # What LEVEL has the tool watch is told there.
  NET_HTTP, FARADAY = ENV["LEVEL"] == "faraday" ? %w[trunkline faraday] : %w[net_http trunkline]

  def seen(&block) = Watched.watch(&block)

  def test_every_way_of_calling
    each_way do |way, call|
      before = server.raw_requests.size
      report = seen { call.call(client, :get, "/ok?page=1&api_key=s3cret") }

      assert_equal [["http.client", "auto.http.trunkline", 200]],
                   report[:spans].map { |span|
                     [span[:op], span[:origin], span[:data]["http.response.status_code"]]
                   }, way
      assert_equal 1, report[:breadcrumbs].size, way
      assert_match(/\A\h{32}-\h{16}-1\z/, sent("sentry-trace")[before], way)
      assert sent("baggage")[before], way
      refute_includes report.to_s, "s3cret", way
    end
  end

  # The first attempt is given up when the second is answered.
  def test_hedged_attempts
    each_hedged_way do |way, call|
      before = server.raw_requests.size
      report = seen { call.call }

      assert_equal [[nil, "cancelled"], [200, nil]],
                   report[:spans].map { |span|
                     [span[:data]["http.response.status_code"], span[:status]]
                   }, way
      assert_equal 1, report[:breadcrumbs].size, way
      assert_equal 2, sent("sentry-trace").drop(before).uniq.size, way
    end
  end

  def test_errors
    report = seen { assert_raises(Trunkline::ConnectionClosed) { client.post("/closed") } }

    assert_equal ["internal_error"], report[:spans].map { |span| span[:status] }
  end

  def test_facades_are_told_once
    assert_equal(["auto.http.#{NET_HTTP}"], seen { through_net_http }[:spans].map { |span| span[:origin] })
    assert_equal(["auto.http.#{FARADAY}"], seen { through_faraday }[:spans].map { |span| span[:origin] })
  end
end
