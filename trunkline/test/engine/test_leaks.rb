# frozen_string_literal: true

require_relative "../test_helper"

# The objects that a call allocates, and that it releases everything it uses.
class TestLeaks < TrunklineTest
  MOST_OBJECTS = 12

  def test_objects_per_get
    skip "counts only make sense without a pushed collector" unless GCLevel::LEVEL == "normal"
    http = client(Nginx.url("/"))
    objects = Memory.objects_per_call do
      response = http.get("/small")
      response.status
      response["content-type"]
      response.body
    end
    assert_operator objects, :<=, MOST_OBJECTS
  end

  def test_memory_does_not_grow_with_calls
    http = client(Nginx.url("/"))
    assert_no_growth(4 * Nginx::MEBIBYTE) { http.get("/small").body }
  end

  def test_memory_does_not_grow_with_connections
    http = secure_client(Nginx.url("/", :tls), headers: { "Connection" => "close" })
    assert_no_growth(8 * Nginx::MEBIBYTE, warm: 200, calls: 600) { assert_equal Nginx::SMALL, http.get("/small").body }
  end

  def test_memory_does_not_grow_with_clients
    url = Nginx.url("/small", :tls)
    assert_no_growth(8 * Nginx::MEBIBYTE, warm: 100, calls: 300) do
      http = Trunkline.new(timeout: 5, ca_file: TestCA.ca_file)
      http.get(url)
      http.close
    end
  end

  def test_memory_does_not_grow_with_origins
    http = client
    port = refused_port
    number = 0
    assert_no_growth(8 * Nginx::MEBIBYTE, warm: 4000, calls: 8000) do
      number += 1
      http.get("http://127.1.#{number / 250}.#{number % 250 + 1}:#{port}/")
    rescue Trunkline::ConnectError => error
      assert_equal :none, error.sent if number == 1
    end
    assert_operator number, :>=, 12_000
  end

  def test_unreferenced_clients_with_their_own_pool_are_collected
    url = Nginx.url("/small")
    before = LeakCheck.descriptors.size
    # Uses a separate thread: references on its stack disappear when it ends.
    Thread.new { 50.times { Trunkline.new(timeout: 5, max_idle: 1).get(url) } }.join
    eventually("the connections of forgotten clients stay open") do
      Memory.collect
      LeakCheck.descriptors.size <= before + 1
    end
  end

  def test_forgotten_clients_share_the_connections_of_the_process
    server = serve
    50.times { Trunkline.new(timeout: 5, idle_timeout: 1).get(server.url) }
    assert_equal 1, server.connection_count
    assert_equal :eof, server.ended
  end

  # At most one thread per caller and per name: the resolver has no idle threads, also when all look-ups start at once.
  def test_native_threads_are_bounded
    http = client
    before = most = Memory.native_threads
    callers = Array.new(20) do |number|
      Thread.new do
        http.get("http://no-such-name-#{number}.invalid/")
      rescue Trunkline::Error
        nil # the resolver failed, or a timeout where no name server responds
      end
    end
    while callers.any?(&:alive?)
      most = [most, Memory.native_threads].max
      sleep 0.001
    end
    callers.each(&:join)
    assert_operator most - before, :<=, 20 + 20 + 2
  end

  def test_many_calls_leave_no_descriptor
    http = client(Nginx.url("/"))
    http.get("/small")
    before = LeakCheck.descriptors.size
    500.times { http.get("/small") }
    assert_equal before, LeakCheck.descriptors.size
  end

  def test_responses_survive_their_client
    bodies = Array.new(50) do
      http = Trunkline.new(timeout: 5)
      response = http.get(Nginx.url("/page"))
      http.close
      response
    end
    GC.start
    bodies.each { |response| assert_equal [Nginx::PAGE, "13801"], [response.body, response["content-length"]] }
  end

  def test_compaction
    skip "this Ruby cannot compact" unless GC.respond_to?(:compact)
    http = client(Nginx.url("/"))
    responses = Array.new(50) { http.get("/small") }
    GC.compact
    responses.each { |response| assert_equal [Nginx::SMALL, "133"], [response.body, response["content-length"]] }
    assert_equal Nginx::SMALL, http.get("/small").body
  end

  # Runs in a separate process: a WeakMap of sockets ended the process after compactions (Ruby 3.1).
  def test_compaction_with_dropped_connections
    skip "this Ruby cannot compact" unless GC.respond_to?(:verify_compaction_references)
    result = Subprocess.run(<<~'RUBY')
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      serve = lambda do |socket|
        socket.readpartial(1000)
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        socket.close
      end
      Thread.new { loop { Thread.new(server.accept, &serve) } }
      http = Trunkline.new("http://127.0.0.1:#{server.addr[1]}", timeout: 20)
      20.times do
        20.times { http.get("/").body }
        GC.verify_compaction_references(toward: :empty)
        500.times { "x" * 100 }
      end
      print http.get("/").body
    RUBY
    assert_equal ["ok", ""], [result.out, result.err]
  end

  # Every new object triggers a minor collection (1: no major collections, which would take minutes).
  def test_stress
    http = client(Nginx.url("/"))
    refused = refused_port
    GC.stress = 1
    3.times { assert_equal "133", http.get("/small", headers: { "X-A" => "b" }, params: { a: 1 })["Content-Length"] }
    assert_equal 133, http.get("/small", stream: true).each.sum(&:bytesize)
    assert_equal 200, http.post("/length", body: %w[one two].each).status
    assert_raises(Trunkline::ConnectError) { http.get("http://127.0.0.1:#{refused}/") }
  ensure
    GC.stress = false
  end

  private

  PERIODS = 3
  private_constant :PERIODS

  # Garbage that is not collected yet is no leak: the warm-up makes as much of it as the measured calls. A leak grows
  # with all calls; the heap of a process that has run many tests may also grow once, at any time, so the calls are made
  # in up to three periods, until memory grows less in one.
  # @param limit [Integer] bytes
  def assert_no_growth(limit, warm: 5000, calls: 5000, &block)
    warm.times(&block)
    grown = Array.new(PERIODS)
    grown.each_index do |period|
      grown[period] = growth(calls, &block)
      break if grown[period] < limit
    end
    assert_operator grown.compact.last, :<, limit, "grown in each period: #{grown.inspect}"
  end

  # @return [Integer] bytes
  def growth(calls, &block)
    Memory.collect
    before = Memory.resident_bytes
    calls.times(&block)
    Memory.collect
    Memory.resident_bytes - before
  end
end
