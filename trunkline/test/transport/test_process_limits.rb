# frozen_string_literal: true

require_relative "../support/http2/http2_test"

# Limits for all clients of the process together: connections, and bytes of responses that callers have not read.
class TestProcessLimits < HTTP2Test
  def setup
    super
    @lock = Mutex.new
    @sent = 0
  end

  def teardown
    Trunkline.configure { |defaults| defaults.max_connections = defaults.max_buffered_bytes = nil }
    super
  end

  def limit(**limits)
    Trunkline.configure { |defaults| limits.each { |name, value| defaults.public_send(:"#{name}=", value) } }
  end

  def test_so_many_connections_over_all_clients_and_hosts
    limit(max_connections: 2)
    probe = ConcurrencyProbe.new(2, 9)
    servers = Array.new(3) { serve { |connection| echo(connection) { probe.wait } } }
    clients = [client, client(max_idle: 4), client(max_idle: 4)]
    urls = servers.flat_map { |server| [server.url] * 3 }
    bodies = urls.each_with_index.map { |url, at| Thread.new { clients[at % 3].get(url).body } }.map(&:value)
    assert_equal ["/"] * 9, bodies
    assert_equal 2, probe.most
    assert_equal 0, Trunkline.stats[:connections_in_use]
  end

  def test_in_batches_and_singly
    limit(max_connections: 2)
    probe = ConcurrencyProbe.new(2, 10)
    server = serve { |connection| echo(connection) { probe.wait } }
    single = Thread.new { Array.new(2) { client(max_idle: 1).get(server.url).status } }
    assert_equal [200] * 8, client.map(["#{server.url}x"] * 8, concurrency: 8).map(&:status)
    assert_equal [200] * 2, single.value
    assert_equal 2, probe.most
  end

  def test_a_call_beyond_max_connections_waits_until_its_queue_timeout
    limit(max_connections: 1)
    gate = Queue.new
    server = serve { |connection| echo(connection) { gate.pop } }
    first = Thread.new { client.get(server.url).status }
    server.wait_for_requests(1)
    assert_equal 1, Trunkline.stats[:connections_in_use]
    seconds, error = raised_after(Trunkline::QueueTimeout) { client.get(serve.url, timeout: { queue: 0.2, total: 5 }) }
    assert_took 0.2, seconds
    assert_facts error, phase: :queue, sent: :none
    assert_includes error.message, "max_connections allows the process"
    gate << true
    assert_equal 200, first.value
  end

  def test_the_error_names_the_limit_of_the_host
    gate = Queue.new
    server = serve { |connection| echo(connection) { gate.pop } }
    http = client(server.url, max_connections_per_host: 1)
    first = Thread.new { http.get("/").status }
    server.wait_for_requests(1)
    error = assert_raises(Trunkline::QueueTimeout) { http.get("/", timeout: { queue: 0.1, total: 5 }) }
    assert_includes error.message, "max_connections_per_host:"
    gate << true
    first.join
  end

  def test_idle_connections_do_not_count
    limit(max_connections: 1)
    http = client
    servers = Array.new(3) { serve }
    2.times { servers.each { |server| assert_equal 200, http.get(server.url).status } }
    assert_equal [1, 1, 1], servers.map(&:connection_count)
  end

  def test_a_raised_limit_wakes_waiting_calls
    limit(max_connections: 1)
    gate = Queue.new
    server = serve { |connection| echo(connection) { gate.pop } }
    first = Thread.new { client.get(server.url).status }
    server.wait_for_requests(1)
    http = client
    second = Thread.new { http.get(server.url).status }
    eventually { http.stats[:waiting] == 1 }
    limit(max_connections: 2)
    server.wait_for_requests(2)
    2.times { gate << true }
    assert_equal [200, 200], [first, second].map(&:value)
  end

  def test_stats_report_the_limits
    limit(max_connections: 7, max_buffered_bytes: 2_000_000)
    expected = { connections_in_use: 0, max_connections: 7, buffered_bytes: 0, max_buffered_bytes: 2_000_000 }
    assert_equal expected, Trunkline.stats.slice(*expected.keys)
    assert_equal expected, client.stats.slice(*expected.keys)
  end

  def test_default_limits
    half = Process.getrlimit(:NOFILE).first / 2
    assert_equal [[half, (2**32) - 1].min, 256 * 1024 * 1024],
                 Trunkline.stats.values_at(:max_connections, :max_buffered_bytes)
  end

  def test_values_of_the_limits
    limits = -> { Trunkline.stats.values_at(:max_connections, :max_buffered_bytes) }
    before = limits.call
    [0, -1, 1.5, "9", true].each do |value|
      %i[max_connections max_buffered_bytes].each do |name|
        error = assert_raises(Trunkline::InvalidRequest) { limit(name => value, timeout: 3) }
        assert_includes error.message, "#{name}: must be an Integer from"
        assert_includes error.message, value.inspect
      end
    end
    assert_equal before, limits.call
  end

  def test_process_limits_are_no_options_of_a_client
    error = assert_raises(Trunkline::InvalidRequest) { Trunkline.new(timeout: 1, max_connections: 5) }
    assert_includes error.message, "Trunkline.configure { |c| c.max_connections = ... }"
  end

  PIECE = "x" * 16_384
  # Number of pieces in a response: more than a narrow HTTP/2 stream window (64 KiB) holds.
  MUCH = 40

  def test_unread_http2_responses_are_stopped
    limit(max_buffered_bytes: 8 * 1_048_576)
    server = serve_frames { |stream| send_much(stream) }
    http = h2_client(server.url, timeout: 30) # the server, which is in Ruby, decides how long all responses take
    unread = Array.new(30) { |number| http.get("/#{number}", stream: true) }
    assert_includes 1..(8 * 1_048_576), Trunkline.stats[:buffered_bytes]
    assert_sent_at_most 8 * 1_048_576
    unread.each { |response| assert_equal PIECE.bytesize * MUCH, response.body.bytesize }
    assert_equal 0, Trunkline.stats[:buffered_bytes]
    assert_equal 1, server.connection_count
  end

  def test_a_response_being_read_is_not_delayed_by_unread_ones
    limit(max_buffered_bytes: 1_048_576)
    server = serve_frames { |stream| stream.answer(PIECE * MUCH) }
    http = h2_client(server.url)
    unread = Array.new(15) { |number| http.get("/#{number}", stream: true) }
    assert_equal PIECE.bytesize * MUCH, http.get("/read").body.bytesize
    assert_equal 15 * 65_536, Trunkline.stats[:buffered_bytes]
    unread.each(&:close)
    eventually { Trunkline.stats[:buffered_bytes].zero? }
  end

  def test_a_call_without_buffer_space_waits_until_its_queue_timeout
    limit(max_buffered_bytes: 1_048_576)
    server = serve_frames { |stream| stream.answer(PIECE * MUCH) }
    http = h2_client(server.url)
    unread = Array.new(16) { |number| http.get("/#{number}", stream: true) }
    error = assert_raises(Trunkline::QueueTimeout) { http.get("/", timeout: { queue: 0.2, total: 5 }) }
    assert_facts error, phase: :queue, sent: :none
    assert_includes error.message, "max_buffered_bytes"
    waiting = Thread.new { http.get("/").body.bytesize }
    sleep 0.05
    unread.each(&:close)
    assert_equal PIECE.bytesize * MUCH, waiting.value
  end

  def test_the_buffer_space_of_dropped_responses_is_reclaimed
    limit(max_buffered_bytes: 1_048_576)
    http = h2_client(serve_frames { |stream| stream.answer(PIECE * MUCH) }.url)
    quietly do
      GC.disable # no collection but the one that the waiting call starts
      16.times { |number| Thread.new { http.get("/#{number}", stream: true) && nil }.join }
      assert_equal PIECE.bytesize * MUCH, assert_quick(2) { http.get("/") }.body.bytesize
    end
  ensure
    GC.enable
  end

  private

  # Without the warning about dropped responses.
  def quietly
    verbose = $VERBOSE
    $VERBOSE = false
    yield
  ensure
    $VERBOSE = verbose
  end

  def send_much(stream)
    stream.headers
    MUCH.times do
      stream.data(PIECE)
      @lock.synchronize { @sent += PIECE.bytesize }
    end
    stream.data("", end_stream: true)
  end

  def assert_sent_at_most(limit)
    eventually do
      before = @sent
      sleep 0.1
      before == @sent
    end
    assert_includes 1..limit, @sent
  end

  def echo(connection)
    while (request = connection.read_request)
      yield
      connection << response_bytes(request.target)
    end
  end
end
