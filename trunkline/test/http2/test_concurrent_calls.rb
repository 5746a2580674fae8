# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../support/http2/http2_test"

# Many concurrent calls over one connection, from threads and from fibers.
class TestConcurrentCalls < HTTP2Test
  COUNT = 1000
  PATHS = Array.new(COUNT) { |number| "/#{number}" }.freeze

  def setup
    super
    @server = serve_frames(settings: { max_concurrent_streams: 2000 }) { |stream| stream.answer(stream.target) }
    # A client with a separate pool that has an open connection, so that the limit of streams is known.
    @http = h2_client(@server.url, max_idle: 4, timeout: 30)
    @http.get("/first")
  end

  def test_a_batch
    results = @http.batch { |batch| PATHS.each { |path| batch.get(path) } }
    assert_whole(results.map(&:body))
  end

  def test_each
    seen = []
    @http.each(PATHS, concurrency: 50) { |path, response| seen << [path, response.body] }
    assert_equal COUNT, seen.size
    assert_whole(seen.sort_by { |path, _| path[1..].to_i }.map(&:last))
  end

  def test_map
    assert_whole(@http.map(PATHS, concurrency: 80).map(&:body))
  end

  def test_futures
    assert_whole(PATHS.map { |path| @http.async.get(path) }.map { |future| future.value!.body })
  end

  def test_fibers
    bodies = Sync { |task| PATHS.map { |path| task.async { @http.get(path).body } }.map(&:wait) }
    assert_whole(bodies)
  end

  def test_a_batch_in_a_fiber
    assert_whole(Sync { @http.map(PATHS, concurrency: 50).map(&:body) })
  end

  def test_threads_and_fibers_and_a_batch_together
    parts = PATHS.each_slice(250).to_a
    threads = parts[0].each_slice(50).map { |paths| Thread.new { paths.map { |path| @http.get(path).body } } }
    batch = Thread.new { @http.map(parts[1]).map(&:body) }
    fibers = Thread.new { Sync { |task| parts[2].map { |path| task.async { @http.get(path).body } }.map(&:wait) } }
    futures = parts[3].map { |path| @http.async.get(path) }
    assert_whole(threads.flat_map(&:value) + batch.value + fibers.value + futures.map { |future| future.value!.body })
  end

  def test_calls_beyond_the_stream_limit_use_a_second_connection
    server = serve_frames(settings: { max_concurrent_streams: 10 }) { |stream| sleep(0.05) && stream.answer }
    http = h2_client(server.url, max_idle: 4)
    http.get("/")
    assert_equal [200] * 40, http.map(Array.new(40, "/"), concurrency: 20).map(&:status)
    assert_equal 2, server.connection_count
  end

  def test_auto_grows_beyond_the_number_of_connections
    server = serve_frames(settings: { max_concurrent_streams: 100 }) { |stream| sleep(0.05) && stream.answer }
    http = h2_client(server.url, max_connections_per_host: 2)
    limits = [0]
    # Only the time limit of every test applies here: while the machine stalls, the limit of requests in flight does not
    # grow.
    http.each(["/"].cycle, progress: ->(progress) { limits << progress.limit }) { break if limits.max > 16 }
    assert_operator limits.max, :>, 16
    assert_operator server.connection_count, :<=, 2
  end

  def test_only_the_call_that_opened_the_connection_reports_a_new_one
    server = serve_frames(settings: { max_concurrent_streams: 100 }, &:answer)
    [->(http) { http.map(PATHS.first(20)) },
     ->(http) { PATHS.first(20).map { |path| http.async.get(path) }.map(&:value!) }].each do |calls|
      reused = calls.call(h2_client(server.url, max_idle: 4)).map { |response| response.connection.reused? }
      assert_equal({ false => 1, true => 19 }, reused.tally)
    end
  end

  def test_a_reset_stream_does_not_fail_other_streams
    server = serve_frames { |stream| stream.target == "/7" ? stream.reset(:internal_error) : stream.answer }
    results = h2_client(server.url).map(PATHS.first(20))
    assert_equal [7], results.each_index.select { |index| results[index].is_a?(Trunkline::StreamReset) }
    assert_equal 1, server.connection_count
  end

  def test_leaving_each_early_cancels_what_is_in_flight
    server = serve_frames { |stream| stream.target == "/0" ? stream.answer : stream.stall }
    http = h2_client(server.url, max_idle: 4)
    http.each(PATHS.first(5), concurrency: 5).first(1)
    server.streams.reject { |stream| stream.target == "/0" }.each { |stream| assert_equal :cancel, stream.wait_reset }
    assert_equal "ok", http.get("/0").body
    assert_equal [1, 0], [server.connection_count, http.stats[:in_use]]
  end

  private

  def assert_whole(bodies)
    assert_equal PATHS, bodies
    assert_equal [1, COUNT + 1], [@server.connection_count, @server.requests.size]
    eventually { @http.stats.values_at(:in_use, :waiting) == [0, 0] }
  end
end
