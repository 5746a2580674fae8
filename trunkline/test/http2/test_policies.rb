# frozen_string_literal: true

require_relative "../support/http2/http2_test"

# Policies over HTTP/2.
class TestPoliciesOverHTTP2 < HTTP2Test
  def test_the_slower_stream_of_two_is_reset
    resets = Thread::Queue.new
    count = 0
    server = serve_frames do |stream|
      next stream.answer("second") unless (count += 1) == 1

      resets << stream.wait_reset
    end
    response = h2_client(server.url, hedge: { after: 0.1, max: 1.0 }).get("/")
    assert_equal ["second", 2, "2"], [response.body, response.attempts.size, response.http_version]
    assert_equal :cancel, resets.pop
    assert_equal 1, server.connection_count
  end

  def test_the_slower_stream_of_two_is_reset_where_a_block_takes_the_body
    resets = Thread::Queue.new
    count = 0
    server = serve_frames { |stream| (count += 1) == 1 ? resets << stream.wait_reset : stream.answer("second") }
    http = h2_client(server.url, hedge: { after: 0.1, max: 1.0 })
    taken = +""
    response = http.batch { |batch| batch.get("/", on_chunk: ->(chunk, _) { taken << chunk }) }.first
    assert_equal ["second", %i[first hedge]], [taken, response.attempts.map(&:reason)]
    assert_equal :cancel, resets.pop
    assert_equal 1, server.connection_count
  end

  # The engine itself sends a request again that its server has refused, a few times.
  def test_refused_streams_are_repeated
    count = 0
    server = serve_frames do |stream|
      (count += 1) > 6 ? stream.answer("done") : stream.reset(:refused_stream)
    end
    response = h2_client(server.url, retry: { backoff: 0.001..0.002, attempts: 9 }).post("/", body: "once")
    assert_equal ["done", %i[first moved retry]], [response.body, response.attempts.map(&:reason).uniq]
  end
end
