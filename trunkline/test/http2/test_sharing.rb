# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../support/http2/http2_test"

# One connection carries all calls, up to the server's limit of streams.
class TestSharing < HTTP2Test
  def test_threads_share_one_connection
    server = serve_frames { |stream| stream.answer(stream.target) }
    http = h2_client(server.url)
    wrong = in_threads(10) do |thread|
      (1..20).count { |call| http.get("/#{thread}/#{call}").body != "/#{thread}/#{call}" }
    end
    assert_equal [0] * 10, wrong
    assert_equal [1, 200], [server.connection_count, server.requests.size]
  end

  # Stops a fiber whose call has taken a connection while another thread holds the lock of that connection, which only
  # the engine in Ruby lets a program reach.
  STOPPED_IN_A_STEP = <<~RUBY
    require "fibers"
    http = Trunkline.new(ENV.fetch("URL"), timeout: 20, http: :h2)
    http.get("/")
    pool = Trunkline::Engine::Pool.all.find { |one| one.stats[:connections] == 1 }
    connection = pool.instance_variable_get(:@all).keys.first.http2
    held = Queue.new
    holder = Thread.new do
      connection.synchronize do
        held << true
        sleep 0.2
      end
    end
    held.pop
    Sync { |task| task.async { http.get("/never") }.stop }
    holder.join
    print http.get("/").body, http.stats.values_at(:connections, :in_use)
  RUBY

  def test_a_fiber_that_is_stopped_in_a_step_keeps_no_connection
    Sync { nil } # skips the test where there are no Fiber schedulers
    server = serve_frames { |stream| stream.target == "/never" ? stream.stall : stream.answer("ok") }
    result = Subprocess.run(STOPPED_IN_A_STEP, { "URL" => server.url, "TRUNKLINE_ENGINE" => "ruby" })
    assert_equal ["ok[1, 0]", ""], [result.out, result.err]
  end

  def test_threads_that_begin_together_share_the_first_connection
    [false, true].each do |tls|
      assert (1..5).any? { connections_for_ten(tls) == 1 }, "none of five over #{tls ? "TLS" : "TCP"}"
    end
  end

  # Calls that wait for the first connection open their own when it takes too long, as on a busy machine.
  def connections_for_ten(tls)
    server = serve_frames(tls: tls) { |stream| sleep(0.1) && stream.answer }
    http = h2_client(server.url)
    assert_equal ["ok"] * 10, in_threads(10) { http.get("/").body }
    server.connection_count
  end

  def test_calls_run_concurrently
    server = serve_frames do |stream|
      stream.answer if stream.connection.wait_until(PATIENCE) { stream.connection.streams.size == 10 }
    end
    http = h2_client(server.url)
    assert_equal ["ok"] * 10, in_threads(10) { http.get("/").body }
  end

  def test_clients_with_the_same_options_share_it
    server = serve_frames
    2.times { h2_client(server.url).get("/") }
    assert_equal 1, server.connection_count
  end

  def test_a_response_reports_whether_its_connection_was_reused
    http = h2_client(serve_frames.url)
    first, second = Array.new(2) { http.get("/") }
    refute_predicate first.connection, :reused?
    assert_same_connection first, second
  end

  def test_a_second_connection_comes_when_the_stream_limit_is_reached
    server = serve_frames(settings: { max_concurrent_streams: 2 }) { |stream| respond_when_there_are(4, stream) }
    http = h2_client(server.url)
    http.get("/quick")
    assert_equal ["ok"] * 4, in_threads(4) { http.get("/held").body }
    assert_equal 2, server.connection_count
  end

  def test_the_stream_limit_is_respected
    probe = ConcurrencyProbe.new(3, 20)
    server = serve_frames(settings: { max_concurrent_streams: 3 }) do |stream|
      probe.wait if stream.target == "/held"
      stream.answer
    end
    http = h2_client(server.url, max_connections_per_host: 1)
    http.get("/")
    assert_equal ["ok"] * 20, in_threads(20) { http.get("/held").body }
    assert_equal 3, probe.most
    assert_equal 1, server.connection_count
  end

  def test_the_stream_limit_of_nginx
    http = secure_client(max_idle: 8)
    http.get(Nginx.url("/small", :h2_few))
    statuses = in_threads(Nginx::FEW_STREAMS * 2) { http.get(Nginx.url("/slow?seconds=0.2", :h2_few)).status }
    assert_equal [200] * 8, statuses
    assert_equal 2, http.stats[:opened]
  end

  def test_a_call_without_a_free_stream_waits_until_its_queue_timeout
    gate = Queue.new
    server = serve_frames(settings: { max_concurrent_streams: 1 }) do |stream|
      gate.pop if stream.target == "/long"
      stream.answer
    end
    http = h2_client(server.url, max_connections_per_host: 1, timeout: { queue: 0.2, total: 5 })
    http.get("/")
    long = Thread.new { http.get("/long").body }
    server.wait_for_requests(2)
    seconds, error = raised_after(Trunkline::QueueTimeout) { http.get("/second") }
    assert_took 0.2, seconds
    assert_facts error, phase: :queue, sent: :none
    gate << true
    assert_equal "ok", long.value
    assert_equal 2, server.requests.size
  end

  def test_waiting_calls_are_served_in_order
    gate = Queue.new
    server = serve_frames(settings: { max_concurrent_streams: 1 }) { |stream| gate.pop && stream.answer }
    http = h2_client(server.url, max_connections_per_host: 1)
    gate << true
    http.get("/first")
    threads = Array.new(5) do |number|
      Thread.new { http.get("/#{number}") }.tap do
        server.wait_for_requests(2)
        eventually { http.stats[:waiting] == number }
      end
    end
    5.times { gate << true }
    threads.each(&:join)
    assert_equal %w[/first /0 /1 /2 /3 /4], server.requests.map(&:target)
  end

  def test_a_stream_limit_lowered_later_is_respected
    server = serve_frames
    http = h2_client(server.url, max_connections_per_host: 1)
    http.get("/")
    connection = server.connection
    connection.send_settings(max_concurrent_streams: 1)
    connection.wait_for(:settings, count: 3)
    assert_equal ["ok"] * 5, in_threads(5) { http.get("/").body }
  end

  def test_a_limit_of_zero_makes_calls_wait
    server = serve_frames(settings: { max_concurrent_streams: 0 })
    http = h2_client(server.url, max_connections_per_host: 1)
    call = Thread.new { http.get("/").body }
    connection = server.connection
    connection.wait_for(:settings, count: 2)
    sleep 0.1
    # Streams that were opened before the server's SETTINGS arrived were permitted.
    early = server.requests.size
    connection.send_settings(max_concurrent_streams: 5)
    assert_equal "ok", call.value
    assert_operator early, :<=, 1
  end

  def test_different_tls_options_do_not_share_a_connection
    server = serve_frames(tls: true)
    h2_client(server.url).get("/")
    client(server.url, http: :h2, verify: false).get("/")
    assert_equal 2, server.connection_count
  end

  def test_stats_are_truthful
    server = serve_frames { |stream| stream.target == "/held" ? respond_when_there_are(3, stream) : stream.answer }
    http = h2_client(server.url, max_idle: 4)
    http.get("/")
    assert_equal [0, 1], http.stats.values_at(:in_use, :idle)
    held = Array.new(2) { Thread.new { http.get("/held") } }
    server.wait_for_requests(3)
    assert_equal [1, 0], http.stats.values_at(:in_use, :idle)
    http.get("/held")
    held.each(&:join)
    eventually { http.stats.values_at(:in_use, :idle, :waiting) == [0, 1, 0] }
  end

  private

  def respond_when_there_are(count, stream)
    @held ||= Queue.new
    return stream.answer if stream.target != "/held"

    @held << stream
    sleep 0.005 until @held.size >= count || stream.connection.over?
    stream.answer
  end
end
