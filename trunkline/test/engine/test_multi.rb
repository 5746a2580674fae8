# frozen_string_literal: true

require_relative "../test_helper"
require "trunkline/stubs"

# Engine::Multi#run adds tag, result and status to its caller's Array (engine.rb).
class TestMulti < TrunklineTest
  def test_a_buffered_response_comes_with_its_status
    server = serve { |connection| connection << response_bytes(status: "404 Not Found") if connection.read_request }
    tag, response, status = results(server, streaming: false)
    assert_equal [:tag, 404, 404], [tag, response.status, status]
  end

  def test_an_error_comes_without
    server = serve { |connection| connection.read_request && connection.close }
    tag, error, status = results(server, streaming: false)
    assert_kind_of Trunkline::Error, error
    assert_equal [:tag, nil], [tag, status]
  end

  def test_the_parts_of_a_streamed_response_come_without_a_status
    server = serve(chunked_response("one"))
    tags, parts, statuses = results(server, streaming: true).each_slice(3).to_a.transpose
    assert_kind_of Trunkline::Response, parts.first
    assert_equal "one", parts[1..-2].join
    assert_nil parts.last
    assert_equal [[:tag], [nil]], [tags.uniq, statuses.uniq]
  end

  def test_stubbed_responses_are_reported_like_real_ones
    Trunkline::Stubs.use do |stubs|
      stubs.get("http://stubbed.test/").answer(503, body: "two")
      server = Struct.new(:url).new("http://stubbed.test/")
      assert_equal 503, results(server, streaming: false).last
      parts = results(server, streaming: true).each_slice(3).to_a
      assert_equal [503, "two", nil], [parts[0][1].status, parts[1][1], parts[2][1]]
      assert_equal [nil], parts.map(&:last).uniq
    end
  end

  private

  def results(server, streaming:)
    http = client
    builder = http.instance_variable_get(:@requests)
    multi = Trunkline::Engine::Multi.new(http.instance_variable_get(:@pool))
    multi.add(builder.build("GET", server.url, nil, streaming ? :streamed : :buffered), nil, :tag)
    [].tap { |results| multi.run(5, results) while multi.size.positive? }
  ensure
    multi&.close
  end
end
