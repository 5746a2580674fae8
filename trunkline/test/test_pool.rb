# frozen_string_literal: true

require_relative "test_helper"

# Connections: kept, limited, waited for in turn, closed in time.
class TestPool < TrunklineTest
  def test_at_most_as_many_connections_as_allowed
    server = serve { |connection| slow_echo(connection, 0.05) }
    http = client(server.url, max_connections_per_host: 2)
    bodies = Array.new(8) { |number| Thread.new { http.get("/#{number}").body } }.map(&:value)
    assert_equal Array.new(8) { |number| "/#{number}" }, bodies
    assert_equal 2, server.connection_count
  end

  def test_the_limit_is_per_host
    servers = Array.new(2) { serve { |connection| slow_echo(connection, 0.2) } }
    http = client(max_connections_per_host: 1)
    seconds, = timed { servers.map { |server| Thread.new { http.get(server.url) } }.each(&:join) }
    assert_operator seconds, :<, 0.38
  end

  def test_those_who_wait_are_served_in_turn
    server = serve { |connection| slow_echo(connection, 0.06) }
    http = client(server.url, max_connections_per_host: 1)
    threads = Array.new(5) do |number|
      thread = Thread.new { http.get("/#{number}") }
      server.wait_for_requests(1) if number.zero?
      sleep 0.02
      thread
    end
    threads.each(&:join)
    assert_equal %w[/0 /1 /2 /3 /4], server.requests.map(&:target)
  end

  def test_waiting_has_its_own_timeout
    server = serve { |connection| slow_echo(connection, 0.8) }
    http = client(server.url, max_connections_per_host: 1, timeout: { queue: 0.2, total: 5 })
    first = Thread.new { http.get("/first").body }
    server.wait_for_requests(1)
    seconds, error = raised_after(Trunkline::QueueTimeout) { http.get("/second") }
    assert_took 0.2, seconds
    assert_facts error, phase: :queue, sent: :none, connection_age: nil
    assert_equal "/first", first.value
    assert_equal 1, server.requests.size
  end

  def test_the_wait_is_told
    server = serve { |connection| slow_echo(connection, 0.2) }
    http = client(server.url, max_connections_per_host: 1)
    first = Thread.new { http.get("/first") }
    server.wait_for_requests(1)
    sleep 0.05
    assert_operator http.get("/second").timings.queue, :>=, 0.1
    first.join
  end

  def test_one_that_gave_up_is_skipped
    server = serve { |connection| slow_echo(connection, 0.4) }
    http = client(server.url, max_connections_per_host: 1)
    first = Thread.new { http.get("/first") }
    server.wait_for_requests(1)
    impatient = Thread.new { assert_raises(Trunkline::TimeoutError) { http.get("/gone", timeout: 0.1) } }
    sleep 0.05
    assert_equal "/third", http.get("/third").body
    [first, impatient].each(&:join)
    assert_equal %w[/first /third], server.requests.map(&:target)
  end

  def test_a_failed_connection_frees_its_place
    server = serve(script: [%i[read close], [:read, answer]])
    http = client(server.url, max_connections_per_host: 1)
    assert_raises(Trunkline::ConnectionClosed) { http.get("/") }
    assert_quick { assert_equal "ok", http.get("/").body }
    refused = client(max_connections_per_host: 1)
    url = "http://127.0.0.1:#{FreePort.refused}/"
    2.times { assert_raises(Trunkline::ConnectError) { refused.get(url, timeout: 1) } }
  end

  def test_the_last_one_in_is_the_first_one_out
    server = serve { |connection| slow_echo(connection, 0.1) }
    http = client(server.url)
    Array.new(3) { |number| Thread.new { sleep(number * 0.03) && http.get("/") } }.each(&:join)
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
    assert_in_delta 0.2, monotonic - start, 0.5, "closed by the reaper, not by the next call"
    refute_predicate http.get("/").connection, :reused?
  end

  def test_an_idle_connection_is_used_before_its_age
    http = client(serve.url, idle_timeout: 5)
    http.get("/")
    sleep 0.2
    assert_predicate http.get("/").connection, :reused?
  end

  def test_keep_alive_timeout_of_the_server_is_honoured
    server = serve(answer("ok", "Keep-Alive" => "timeout=1"))
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

  def test_at_most_as_many_idle_ones_as_allowed
    server = serve { |connection| slow_echo(connection, 0.15) }
    http = client(server.url, max_idle: 2)
    Array.new(5) { Thread.new { http.get("/") } }.each(&:join)
    eventually { server.connections.compact.count(&:ended) == 3 }
  end

  def test_no_idle_one_at_all
    server = serve
    http = client(server.url, max_idle: 0)
    2.times { http.get("/") }
    assert_equal 2, server.connection_count
  end

  def test_two_hosts_do_not_share
    one = serve(answer("one"))
    two = serve(answer("two"))
    http = client
    2.times { assert_equal %w[one two], [http.get(one.url).body, http.get(two.url).body] }
  end

  def test_connect_to_is_part_of_the_key
    one = serve(answer("one"))
    two = serve(answer("two"))
    http = client
    bodies = [one, two].map { |server| opened(http.with(connect_to: "127.0.0.1:#{server.port}")).get("http://same.test/").body }
    assert_equal %w[one two], bodies
  end

  def test_many_threads_and_many_servers
    servers = Array.new(3) { |number| serve { |connection| slow_echo(connection, 0, number.to_s) } }
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

  def test_close_wakes_those_who_wait
    server = serve { |connection| slow_echo(connection, 1.0) }
    http = client(server.url, max_connections_per_host: 1)
    first = Thread.new { http.get("/first").body }
    server.wait_for_requests(1)
    waiting = Thread.new { assert_raises(Trunkline::Error) { http.get("/second", timeout: 0.5) } }
    sleep 0.1
    http.close
    assert_kind_of Trunkline::Error, waiting.value
    assert_equal "/first", first.value, "a call under way may end"
  end

  private

  def slow_echo(connection, seconds, prefix = "")
    while (request = connection.read_request)
      sleep seconds
      connection << answer(prefix + request.target)
    end
  end
end
