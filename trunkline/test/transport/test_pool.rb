# frozen_string_literal: true

require_relative "../test_helper"

# Connections of a pool: reuse, limits, the order of the queue, and when they are closed.
class TestPool < TrunklineTest
  def test_at_most_as_many_connections_as_allowed
    probe = ConcurrencyProbe.new(2, 8)
    server = serve { |connection| echo(connection) { probe.wait } }
    http = client(server.url, max_connections_per_host: 2)
    bodies = Array.new(8) { |number| Thread.new { http.get("/#{number}").body } }.map(&:value)
    assert_equal Array.new(8) { |number| "/#{number}" }, bodies
    assert_equal 2, server.connection_count
  end

  def test_the_limit_is_per_host
    probe = ConcurrencyProbe.new(2)
    servers = Array.new(2) { serve { |connection| echo(connection) { probe.wait } } }
    http = client(max_connections_per_host: 1)
    servers.map { |server| Thread.new { http.get(server.url) } }.each(&:join)
    assert_equal 2, probe.most
  end

  def test_connections_are_shared_whatever_the_encoding_of_the_url
    server = serve { |connection| echo(connection) }
    http = client(max_idle: 2)
    http.get(server.url).body
    %w[US-ASCII BINARY ISO-8859-1].each { |encoding| http.with.get(server.url.dup.force_encoding(encoding)).body }
    assert_equal 1, server.connection_count
  end

  def test_waiting_calls_are_served_in_order
    gate = Queue.new
    server = serve { |connection| echo(connection) { gate.pop } }
    http = client(server.url, max_connections_per_host: 1)
    threads = Array.new(5) do |number|
      waiting_for(http, number) { http.get("/#{number}") }.tap { server.wait_for_requests(1) }
    end
    5.times { gate << true }
    threads.each(&:join)
    assert_equal %w[/0 /1 /2 /3 /4], server.requests.map(&:target)
  end

  def test_waiting_has_its_own_timeout
    gate = Queue.new
    server = serve { |connection| echo(connection) { gate.pop } }
    http = client(server.url, max_connections_per_host: 1, timeout: { queue: 0.2, total: 5 })
    first = Thread.new { http.get("/first").body }
    server.wait_for_requests(1)
    seconds, error = raised_after(Trunkline::QueueTimeout) { http.get("/second") }
    assert_took 0.2, seconds
    assert_facts error, phase: :queue, sent: :none, connection_age: nil
    gate << true
    assert_equal "/first", first.value
    assert_equal 1, server.requests.size
  end

  def test_the_wait_is_reported_in_timings
    gate = Queue.new
    server = serve { |connection| echo(connection) { gate.pop } }
    http = client(server.url, max_connections_per_host: 1)
    first = Thread.new { http.get("/first") }
    server.wait_for_requests(1)
    second = waiting_for(http, 1) { http.get("/second") }
    sleep 0.1
    2.times { gate << true }
    assert_operator second.value.timings.queue, :>=, 0.1
    first.join
  end

  def test_a_waiting_call_that_timed_out_is_skipped
    gate = Queue.new
    server = serve { |connection| echo(connection) { gate.pop } }
    http = client(server.url, max_connections_per_host: 1)
    first = Thread.new { http.get("/first") }
    server.wait_for_requests(1)
    impatient = waiting_for(http, 1) { assert_raises(Trunkline::TimeoutError) { http.get("/gone", timeout: 0.5) } }
    third = Thread.new { http.get("/third").body }
    impatient.join
    eventually { http.stats[:waiting] == 1 }
    2.times { gate << true }
    assert_equal "/third", third.value
    first.join
    assert_equal %w[/first /third], server.requests.map(&:target)
  end

  def test_a_failed_connection_frees_its_slot
    server = serve(script: [%i[read close], [:read, response_bytes]])
    http = client(server.url, max_connections_per_host: 1)
    assert_raises(Trunkline::ConnectionClosed) { http.get("/") }
    assert_quick { assert_equal "ok", http.get("/").body }
    refused = client(max_connections_per_host: 1)
    url = "http://127.0.0.1:#{refused_port}/"
    2.times { assert_raises(Trunkline::ConnectError) { refused.get(url, timeout: 1) } }
  end

  def test_the_most_recently_used_idle_connection_is_reused
    probe = ConcurrencyProbe.new(3)
    server = serve { |connection| echo(connection) { probe.wait } }
    http = client(server.url)
    Array.new(3) { Thread.new { http.get("/") } }.each(&:join)
    ids = Array.new(5) { http.get("/").connection.id }
    assert_equal 1, ids.uniq.size
    assert_equal 3, server.connection_count
  end

  def test_idle_connections_are_closed_by_age
    server = serve
    http = client(server.url, idle_timeout: 0.2)
    http.get("/")
    start = monotonic
    assert_equal :eof, server.ended
    assert_took 0.2, monotonic - start, 0.5 # closed by the reaper, not by the next call
    refute_predicate http.get("/").connection, :reused?
  end

  def test_an_idle_connection_is_used_before_its_age
    http = client(serve.url, idle_timeout: 5)
    http.get("/")
    sleep 0.2
    assert_predicate http.get("/").connection, :reused?
  end

  def test_connections_take_no_more_calls_at_their_maximum_age
    server = serve
    http = client(server.url, max_age: 0.5)
    first = http.get("/")
    assert_same_connection first, http.get("/")
    start = monotonic
    (last = http.get("/")) && sleep(0.01) until last&.connection&.id.to_i > first.connection.id || monotonic - start > 5
    assert_different_connection first, last
    assert_operator monotonic - start, :<=, 0.5 + ClockJitter.lateness(0.6) + TOLERANCE
    assert_equal :eof, server.ended
  end

  def test_an_idle_connection_is_closed_at_its_maximum_age
    server = serve
    http = client(server.url, max_age: 0.3)
    http.get("/")
    assert_equal :eof, server.ended, "closed by the reaper, not by the next call"
  end

  def test_the_age_counts_for_the_client_that_calls
    server = serve
    http = client(server.url)
    first = http.get("/")
    sleep 0.2
    assert_same_connection first, http.with(max_age: nil).get("/")
    assert_different_connection first, http.with(max_age: 0.1).get("/")
  end

  def test_keep_alive_timeout_of_the_server_is_honoured
    server = serve(response_bytes("ok", "Keep-Alive" => "timeout=1"))
    http = client(server.url)
    http.get("/")
    sleep 1.0
    refute_predicate http.get("/").connection, :reused?
    assert_equal :eof, server.ended
  end

  def test_keep_alive_timeout_of_nginx
    http = client
    first = http.get(Nginx.url("/small", :short_keepalive))
    assert_match(/timeout=3/, first["Keep-Alive"])
    sleep 3.1
    response = http.get(Nginx.url("/small", :short_keepalive))
    refute_predicate response.connection, :reused?
    assert_equal 1, response.attempts.size
  end

  def test_a_server_without_keep_alive
    http = client
    3.times { assert_equal 200, http.get(Nginx.url("/small", :without_keepalive)).status }
    refute_predicate http.get(Nginx.url("/small", :without_keepalive)).connection, :reused?
  end

  def test_at_most_max_idle_connections_stay_open
    probe = ConcurrencyProbe.new(5)
    server = serve { |connection| echo(connection) { probe.wait } }
    http = client(server.url, max_idle: 2)
    Array.new(5) { Thread.new { http.get("/") } }.each(&:join)
    eventually { server.connections.compact.count(&:ended) == 3 }
  end

  def test_max_idle_zero_keeps_no_connection
    server = serve
    http = client(server.url, max_idle: 0)
    2.times { http.get("/") }
    assert_equal 2, server.connection_count
  end

  def test_two_hosts_do_not_share
    one = serve(response_bytes("one"))
    two = serve(response_bytes("two"))
    http = client
    2.times { assert_equal %w[one two], [http.get(one.url).body, http.get(two.url).body] }
  end

  def test_connect_to_is_part_of_the_key
    one = serve(response_bytes("one"))
    two = serve(response_bytes("two"))
    http = client
    bodies = [one, two].map { |server| opened(http.with(connect_to: "127.0.0.1:#{server.port}")).get("http://same.test/").body }
    assert_equal %w[one two], bodies
  end

  def test_many_threads_and_many_servers
    servers = Array.new(3) { |number| serve { |connection| echo(connection, number.to_s) } }
    http = client(max_connections_per_host: 4)
    threads = Array.new(12) do |number|
      Thread.new do
        40.times do |call|
          index = (number + call) % 3
          assert_equal "#{index}/#{number}/#{call}", http.get(servers[index].url("/#{number}/#{call}")).body
        end
      end
    end
    threads.each(&:join)
    servers.each { |server| assert_operator server.connection_count, :<=, 4 }
  end

  def test_close_wakes_waiting_calls
    gate = Queue.new
    server = serve { |connection| echo(connection) { gate.pop } }
    http = client(server.url, max_connections_per_host: 1)
    first = Thread.new { http.get("/first").body }
    server.wait_for_requests(1)
    waiting = waiting_for(http, 1) { assert_raises(Trunkline::Error) { http.get("/second", timeout: 1) } }
    http.close
    assert_kind_of Trunkline::Error, waiting.value
    gate << true
    assert_equal "/first", first.value, "a call under way may end"
  end

  private

  # Runs the block between each request and its response.
  def echo(connection, prefix = "")
    while (request = connection.read_request)
      yield if block_given?
      connection << response_bytes(prefix + request.target)
    end
  end

  # Starts a thread whose call enters the queue; returns once `count` calls are in the queue.
  def waiting_for(http, count, &call)
    Thread.new(&call).tap { eventually { http.stats[:waiting] == count } }
  end
end
