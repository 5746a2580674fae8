# frozen_string_literal: true

# Under a Fiber scheduler, a call suspends only its own fiber, in every phase; other fibers continue.
module FiberTests
  STALL = 0.3

  # Runs the block in one fiber while another counts; the other must run regularly meanwhile.
  def while_others_go_on(seconds = STALL)
    turns = 0
    over = false
    counting = lambda do
      until over
        turns += 1
        sleep 0.01
      end
    end
    result = nil
    calling = lambda do
      result = yield
    rescue Trunkline::Error => error
      result = error
    ensure
      over = true
    end
    took, = timed { concurrently(counting, calling) }
    assert_operator took, :>=, seconds * 0.9, "it waited"
    assert_operator turns, :>=, seconds / 0.01 / 5, "the other fiber went on"
    result
  end

  def test_waiting_for_a_response
    server = serve do |connection|
      connection.read_request
      sleep STALL
      connection << response_bytes
    end
    assert_equal "ok", while_others_go_on { client.get(server.url) }.body
  end

  def test_connecting
    url = opened(FullBacklog.new).url
    error = while_others_go_on { client(timeout: { connect: STALL, total: 5 }).get(url) }
    assert_instance_of Trunkline::ConnectTimeout, error
  end

  def test_the_tls_handshake
    server = serve(script: [[:stall]], handshake: false)
    error = while_others_go_on { secure_client(timeout: { tls: STALL, total: 5 }).get(server.url) }
    assert_instance_of Trunkline::TLSTimeout, error
  end

  def test_resolving
    concurrently(lambda do
      assert_raises(Trunkline::ResolveError) { client.get("http://nowhere-#{Process.pid}.invalid/") }
      assert_equal "ok", client.get(serve.url(host: "localhost")).body
    end)
  end

  def test_waiting_for_a_connection
    server = serve do |connection|
      while connection.read_request
        sleep STALL / 2
        connection << response_bytes
      end
    end
    http = client(max_connections_per_host: 1, max_idle: 4)
    results = while_others_go_on do
      concurrently_inside(*Array.new(2) { -> { http.get(server.url) } })
    end
    assert_equal %w[ok ok], results.map(&:body)
    assert_equal 1, server.connection_count
  end

  def test_waiting_for_a_connection_until_the_timeout
    server = serve(script: [%i[read stall]])
    limits = { queue: STALL / 2, first_byte: STALL * 3, total: 5 }
    http = client(max_connections_per_host: 1, max_idle: 4, timeout: limits)
    errors = []
    concurrently(*Array.new(2) do
      lambda do
        http.get(server.url)
      rescue Trunkline::Error => error
        errors << error.class
      end
    end)
    assert_equal [Trunkline::QueueTimeout, Trunkline::FirstByteTimeout], errors
  end

  def test_identical_calls_share_a_response
    server = serve do |connection|
      while connection.read_request
        sleep STALL
        connection << response_bytes
      end
    end
    http = client(coalesce: true)
    results = while_others_go_on { concurrently_inside(*Array.new(2) { -> { http.get(server.url) } }) }
    assert_equal %w[ok ok], results.map(&:body)
    assert_equal 1, server.requests.size
  end

  def test_streaming_a_response
    taken = Queue.new
    server = serve do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
      10.times do |number|
        sleep STALL / 10
        connection << number.to_s
        taken.pop
      end
    end
    chunks = []
    while_others_go_on { client.get(server.url) { |chunk| taken << chunks.push(chunk) } }
    assert_equal ("0".."9").to_a, chunks
  end

  def test_streaming_a_request_to_a_server_that_is_slow
    server = serve do |connection|
      head = connection.read_head_only
      sleep STALL
      connection << response_bytes(connection.read_exactly(head["Content-Length"].to_i).bytesize.to_s)
    end
    body = StringIO.new("x" * 8_000_000)
    assert_equal "8000000", while_others_go_on { client.put(server.url, body: body) }.body
  end

  def test_streaming_a_request_from_a_source_that_is_slow
    server = serve { |connection| connection << response_bytes(connection.read_request.body) }
    pieces = %w[0 1 2]
    source = lambda do
      sleep STALL / 3
      pieces.shift
    end
    assert_equal "012", while_others_go_on { client.post(server.url, body: source) }.body
  end

  def test_tls_upload_and_download
    server = serve_tls { |connection| connection << response_bytes(connection.read_request.body) }
    body = Random.bytes(2_000_000)
    concurrently(-> { assert_equal body, secure_client.post(server.url, body: body).body })
  end

  def test_a_thousand_fibers_share_the_pool_and_its_limit
    server = serve
    http = client(max_connections_per_host: 10, max_idle: 10, timeout: 60)
    bodies = concurrently(*Array.new(1000) { -> { http.get(server.url).body } })
    assert_equal ["ok"] * 1000, bodies
    assert_operator server.connection_count, :<=, 10
    stats = http.stats
    assert_equal [0, 0], stats.values_at(:in_use, :waiting)
    assert_equal 1000, stats[:taken]
  end

  def test_an_end_from_outside_ends_the_call_at_once
    server = serve(script: [%i[read stall]])
    http = client(max_idle: 4)
    took, = timed { cancel_after(0.1) { http.get(server.url) } }
    assert_took_less 1.5, took
    assert_equal :eof, server.ended
    assert_equal 0, http.stats[:in_use]
  end

  def test_an_end_from_outside_in_the_queue
    gate = Queue.new
    server = serve(script: [[:read, ->(_) { gate.pop }, response_bytes, :read, response_bytes]])
    http = client(max_connections_per_host: 1, max_idle: 4)
    concurrently(
      -> { assert_equal "ok", http.get(server.url).body },
      lambda do
        cancel_after_inside(0.1) { http.get(server.url) }
        gate << true
      end
    )
    assert_equal [0, 0], http.stats.values_at(:in_use, :waiting)
    assert_equal "ok", http.get(server.url).body
  end

  def test_an_end_from_outside_while_waiting_for_a_future
    gate = Queue.new
    server = serve(script: [[:read, ->(_) { gate.pop }, response_bytes]])
    future = client.async.get(server.url)
    cancel_after(0.1) { future.value }
    gate << true
    assert_equal "ok", future.value.body
  end

  def test_an_end_from_outside_while_a_batch_waits_for_its_rate
    server = serve
    http = client(server.url)
    cancel_after(0.3) { http.map(Array.new(9, "/"), rate: 1) }
    assert_operator server.requests.size, :<, 9
    assert_equal "ok", http.get("/").body
  end

  def test_threads_with_and_without_a_scheduler_share_a_client
    server = serve
    http = client(max_connections_per_host: 3, max_idle: 3)
    plain = Array.new(3) { Thread.new { Array.new(50) { http.get(server.url).body } } }
    parked = concurrently(*Array.new(100) { -> { http.get(server.url).body } })
    assert_equal ["ok"] * 250, parked + plain.flat_map(&:value)
    assert_operator server.connection_count, :<=, 3
  end
end
