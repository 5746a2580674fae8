# frozen_string_literal: true

require "json"
require_relative "../test_helper"
require_relative "../support/in_child"

# After a fork, parent and child both continue, and neither uses the other's connections.
class TestFork < TrunklineTest
  include InChild

  CALLS = 300

  [false, true].each do |tls|
    define_method(:"test_parent_and_child_get_their_own_responses#{"_over_tls" if tls}") do
      server = serve(tls: tls ? TestCA.server_context : nil) { |connection| echo(connection) }
      http = secure_client(server.url)
      http.get("/before")
      child = in_child { count_wrong(http, "child") }
      assert_equal 0, count_wrong(http, "parent")
      assert_equal "0", child.call
    end
  end

  def test_the_child_starts_with_an_empty_pool
    server = serve { |connection| echo(connection) }
    http = client(server.url)
    first = http.get("/before")
    reused = in_child { http.get("/child").connection.reused? }.call
    assert_equal "false", reused
    assert_same_connection first, http.get("/after")
    assert_equal 2, server.connection_count
  end

  def test_the_child_counts_its_own_connections
    server = serve { |connection| echo(connection) }
    http = client(server.url, max_idle: 4)
    2.times { http.get("/before") }
    counts = in_child { http.stats.slice(:opened, :reused, :closed, :connections).values.join(" ") }
    assert_equal "0 0 0 0", counts.call
    assert_equal [1, 1, 0, 1], http.stats.values_at(:opened, :reused, :closed, :connections)
  end

  def test_close_in_the_child_does_not_close_the_parents_tls_connection
    server = serve_tls { |connection| echo(connection) }
    http = secure_client(server.url)
    first = http.get("/before")
    in_child { http.close }.call
    second = http.get("/after")
    assert_same_connection first, second
    assert_equal "/after", second.body
  end

  def test_the_end_of_a_child_that_never_called
    server = serve_tls { |connection| echo(connection) }
    http = secure_client(server.url)
    first = http.get("/before")
    Process.wait(fork { exit }) # runs at_exit and finalizers, unlike exit!
    assert_same_connection first, http.get("/after")
  end

  def test_a_child_of_a_child
    server = serve { |connection| echo(connection) }
    http = client(server.url)
    http.get("/before")
    result = in_child do
      http.get("/child")
      in_child { http.get("/grandchild").body }.call
    end
    assert_equal "/grandchild", result.call
    assert_equal "/after", http.get("/after").body
  end

  def test_fork_while_other_threads_call
    server = serve { |connection| echo(connection, 0.002) }
    http = client(server.url)
    going = true
    threads = Array.new(3) { |number| Thread.new { wrong_while(http, number) { going } } }
    children = Array.new(5) { in_child { count_wrong(http, "child", 20) } }
    assert_equal %w[0] * 5, children.map(&:call)
    going = false
    assert_equal [0] * 3, threads.map(&:value)
  end

  def test_fork_while_names_are_resolved
    http = client(timeout: 3)
    resolving = Thread.new { assert_raises(Trunkline::Error) { http.get("http://no-such-name-#{rand(1 << 32)}.invalid/") } }
    server = serve { |connection| echo(connection) }
    assert_equal "/child", in_child { http.get(server.url("/child", host: "localhost")).body }.call
    resolving.join
  end

  def test_the_server_sees_the_end_of_a_dial_though_a_child_lives
    server = serve(handshake: false, script: [[:read_rest]])
    http = secure_client(server.url)
    dialling = Thread.new { raised_after(Trunkline::TotalTimeout) { http.get("/", timeout: 1) } }
    server.wait_for_connections(1)
    living, ending = IO.pipe
    child = in_child { ending.close || living.read }
    assert_equal :tls, dialling.value.last.phase
    assert_equal :eof, server.ended
  ensure
    [living, ending].each { |io| io&.close }
    child&.call
  end

  def test_a_child_that_continues_an_each
    server = serve { |connection| echo(connection, 0.02) }
    parent, child = assert_quick(4) { each_in_both(client(server.url)) } # neither misses an event
    assert_equal parent.keys, parent.values
    child.each { |path, result| assert_includes [path, "Trunkline::ForkedConnection"], result }
    assert_equal 400, child.size
    assert_operator child.values.count("Trunkline::ForkedConnection"), :<=, 16
  end

  # OpenSSL has locks; a thread that is inside OpenSSL at the time of the fork would leave them locked in the child.
  def test_fork_in_a_storm_of_handshakes
    server = serve_tls { |connection| echo(connection) }
    http = secure_client(server.url, timeout: 30) # 64 handshakes at once take seconds on a busy machine
    going = true
    threads = Array.new(4) { Thread.new { fresh_calls(http) { going } } }
    while_on_time do # a child gets an error when a thread was inside OpenSSL for half a second
      children = Array.new(60) { in_child { http.get("/child").body + OpenSSL::Digest::SHA256.hexdigest("")[0, 4] } }
      assert_equal ["/childe3b0"], children.map(&:call).uniq
    end
  ensure
    going = false
    threads.each(&:join)
  end

  def test_a_child_cannot_read_its_parents_streamed_response
    gate = Queue.new
    half = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"
    server = serve(script: [[:read, half, ->(_) { gate.pop }, "rest", :stall]])
    response = client(server.url).get("/", stream: true)
    assert_equal "half", response.read
    outcome = in_child do
      response.read
    rescue Trunkline::ForkedConnection => error
      error.class
    end
    assert_equal "Trunkline::ForkedConnection", outcome.call
    gate << true
    assert_equal "rest", response.read
    response.close # over HTTP/2 the end of the stream may still be on its way
  end

  # Runs in a separate process, since no test may close the connections of the module's own client.
  def test_the_module_functions_in_a_child
    server = serve { |connection| echo(connection) }
    result = Subprocess.run(<<~RUBY)
      call = ->(path) { Trunkline.get("http://#{server.address}" + path, timeout: 5).body }
      puts call["/before"]
      Process.wait(fork { puts call["/child"] })
      puts call["/after"]
    RUBY
    assert_equal "/before\n/child\n/after\n", result.out, result.err
    assert_equal 2, server.connection_count
  end

  def test_a_daemon
    server = serve { |connection| echo(connection) }
    code = <<~RUBY
      http = Trunkline.new(#{server.url.inspect}, timeout: 5)
      http.get("/before")
      Process.daemon(true, true)
      puts http.get("/daemon").body
    RUBY
    assert_equal "/daemon\n", Subprocess.run(code).out
  end

  private

  # The results of an each, by path, in the parent and in a child that is forked during it.
  def each_in_both(http)
    reader, writer = IO.pipe
    results = {}
    pid = 0
    http.each(Array.new(400) { |number| "/#{number}" }, concurrency: 16) do |path, result|
      pid = fork if results.size == 10
      results[path] = result.is_a?(Trunkline::Response) ? result.body : result.class.name
    end
    pid ? writer.close : writer.write(JSON.generate(results))
    [results, JSON.parse(reader.read)] if pid
  ensure
    exit!(0) unless pid
    Process.wait(pid)
    reader.close
  end

  # Makes calls with a new connection for each.
  def fresh_calls(http)
    http.get("/parent", headers: { "Connection" => "close" }) while yield
  end

  def count_wrong(http, name, calls = CALLS)
    (1..calls).count { |call| http.get("/#{name}/#{call}").body != "/#{name}/#{call}" }
  end

  def wrong_while(http, name)
    wrong = 0
    wrong += count_wrong(http, name, 1) while yield
    wrong
  end

  def echo(connection, delay = 0)
    while (request = connection.read_request)
      sleep delay if delay.positive?
      connection << response_bytes(request.target)
    end
  end
end
