# frozen_string_literal: true

require_relative "../test_helper"

# Where HTTP/2 is possible, one call dials, and the others wait to learn whether its connection can be shared: for a
# short time only, and not at all while no thread runs the dial.
class TestSharedDials < TrunklineTest
  PATIENCE = 0.25

  def test_a_hanging_handshake_delays_another_call_by_a_quarter_of_a_second
    server = serve_after_hanging
    http = secure_client(server.url, timeout: 10)
    hanging = in_thread { http.get("/hanging") }
    server.wait_for_connections(1)
    seconds, response = timed { http.get("/") }
    assert_equal "ok", response.body
    assert_took PATIENCE, seconds, 0.15
    release(hanging)
  end

  def test_many_that_wait_for_a_handshake_that_hangs
    server = serve_after_hanging
    http = secure_client(server.url, timeout: 10)
    hanging = in_thread { http.get("/hanging") }
    server.wait_for_connections(1)
    seconds, bodies = timed { Array.new(5) { in_thread { http.get("/").body } }.map(&:value) }
    assert_equal ["ok"] * 5, bodies
    assert_took_less 1.5, seconds
    release(hanging)
  end

  def test_a_batch_whose_block_sleeps_while_it_connects
    slow = serve_after_hanging
    quick = serve
    http = secure_client(timeout: 10)
    asleep = Queue.new
    batch = in_thread do
      http.batch do |requests|
        requests.get(slow.url("/hanging"))
        requests.get(quick.url) do
          slow.wait_for_connections(1)
          asleep << true
          sleep 3
        end
      end
    end
    asleep.pop
    seconds, response = timed { http.get(slow.url("/")) }
    assert_equal "ok", response.body
    assert_took_less 0.2, seconds
    release(batch)
  end

  def test_an_each_whose_block_sleeps_while_it_connects
    slow = serve_after_hanging
    quick = serve
    http = secure_client(timeout: 10)
    asleep = Queue.new
    each = in_thread do
      http.each([slow.url("/hanging"), quick.url]) do
        slow.wait_for_connections(1)
        asleep << true
        sleep 3
      end
    end
    asleep.pop
    seconds, response = timed { http.get(slow.url("/")) }
    assert_equal "ok", response.body
    assert_took_less 0.2, seconds
    release(each)
  end

  def test_a_signal_handler_that_sleeps_while_its_thread_dials
    server = serve_after_hanging
    http = secure_client(server.url, timeout: 10)
    entered = Queue.new
    leave = Queue.new
    previous = trap(:USR1) { entered << true && leave.pop }
    beside = in_thread do
      server.wait_for_connections(1)
      Process.kill(:USR1, Process.pid)
      entered.pop
      timed { http.get("/").body }
    ensure
      leave << true
    end
    assert_raises(Trunkline::TotalTimeout) { http.get("/hanging", timeout: 1.5) }
    seconds, body = beside.value
    assert_equal "ok", body
    assert_took_less 0.2, seconds
  ensure
    trap(:USR1, previous)
  end

  # A free connection is not given to a request of a batch whose block sleeps, which could not use it.
  def test_a_freed_connection_skips_a_batch_whose_block_sleeps
    gate = Queue.new
    server = serve { |connection| echo(connection) { |request| gate.pop if request.target == "/first" } }
    quick = serve
    http = client(timeout: 10, max_connections_per_host: 1)
    first = in_thread { http.get(server.url("/first")).body }
    server.wait_for_requests(1)
    asleep = Queue.new
    batch = in_thread do
      http.map([server.url("/batched"), quick.url]) { |url, _| url == quick.url && (asleep << true) && sleep(3) }
    end
    asleep.pop
    waiting = in_thread { http.get(server.url("/waiting")).body }
    eventually { http.stats[:waiting] == 2 }
    gate << true
    seconds, = timed { assert_equal %w[/first /waiting], [first, waiting].map(&:value) }
    assert_took_less 1, seconds
    batch.join
    assert_equal %w[/first /waiting /batched], server.requests.map(&:target)
  end

  private

  def in_thread(&block) = Thread.new(&block).tap { |thread| thread.report_on_exception = false }

  def release(thread)
    thread.kill
    thread.join
  end

  def echo(connection)
    while (request = connection.read_request)
      yield request
      connection << response_bytes(request.target)
    end
  end

  # The handshake of the first connection never completes; those of all others do.
  def serve_after_hanging
    context = TestCA.server_context(:localhost, alpn: %w[h2 http/1.1])
    context.alpn_select_cb = ->(_) { "http/1.1" }
    serve(handshake: false) do |connection|
      next connection.read_rest && sleep(10) if connection.number == 1

      stream = OpenSSL::SSL::SSLSocket.new(connection.socket, context).tap(&:accept)
      stream.write(response_bytes) while stream.gets("\r\n\r\n")
    end
  end
end
