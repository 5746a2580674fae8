# frozen_string_literal: true

require_relative "../test_helper"
require "timeout"

# A waiting call is interrupted at once, in every phase; its connection is closed; the next call gets its own response.
class TestInterrupts < TrunklineTest
  Interruption = Class.new(StandardError)

  INTERRUPTS = {
    timeout: ->(call) { Timeout.timeout(0.2, Interruption, &call) },
    raise: ->(call) { interrupted_after(0.2, call) { |thread| thread.raise(Interruption) } },
    kill: ->(call) { interrupted_after(0.2, call, &:kill) }
  }.freeze

  # phase => a server that stops in that phase on its first connection and responds "right" on all others
  PHASES = {
    connect: ->(_) {},
    tls: :stall.to_proc,
    write: ->(connection) { connection.read_head_only && sleep },
    first_byte: ->(connection) { connection.read_request && connection.stall },
    head: ->(connection) { connection.read_request && (connection << "HTTP/1.1 2") && connection.stall },
    read: lambda do |connection|
      connection.read_request
      connection << "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal"
      connection.stall
    end
  }.freeze

  PHASES.each_key do |phase|
    INTERRUPTS.each_key do |way|
      next if phase == :connect

      define_method(:"test_#{way}_in_#{phase}") do
        server = serve_stopping_in(phase)
        http = client
        url = phase == :tls ? server.url.sub("http", "https") : server.url
        body = "x" * 50_000_000 if phase == :write
        assert_interrupted(way) { http.post(url, body: body) }
        refute_nil server.ended unless phase == :write
        assert_equal "right", http.get(server.url).body
      end
    end
  end

  INTERRUPTS.each_key do |way|
    define_method(:"test_#{way}_in_connect") do
      backlog = opened(FullBacklog.new)
      http = client
      assert_interrupted(way) { http.get(backlog.url) }
      assert_equal "ok", http.get(serve.url).body
    end

    define_method(:"test_#{way}_in_queue") do
      gate = Queue.new
      server = serve { |connection| connection << response_bytes while connection.read_request && gate.pop }
      http = client(server.url, max_connections_per_host: 1)
      first = Thread.new { http.get("/first").body }
      server.wait_for_requests(1)
      assert_interrupted(way) { http.get("/second") }
      2.times { gate << true }
      assert_equal "ok", first.value
      assert_equal "ok", http.get("/third").body
    end

    define_method(:"test_#{way}_on_a_reused_connection_then_the_late_response") do
      # Responds late: when the client has closed, or has sent another request.
      late = ->(connection) { connection.tcp.wait_readable(5) }
      server = serve(script: [[:read, response_bytes("one"), :read, late, response_bytes("LATE"), :stall],
                              [:read, response_bytes("right"), :stall]])
      http = client(server.url)
      http.get("/")
      assert_interrupted(way) { http.get("/late") }
      sleep 0.1
      assert_equal "right", http.get("/next").body
    end

    define_method(:"test_#{way}_in_streaming") do
      server = serve(script: [[:read, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", :stall],
                              [:read, response_bytes("right")]])
      http = client(server.url)
      response = http.get("/", stream: true)
      assert_interrupted(way) { response.each { |chunk| chunk } }
      refute_nil server.ended
      assert_equal "right", http.get("/").body
    end

    define_method(:"test_#{way}_in_the_body_that_is_made") do
      server = serve(script: [%i[read_head_only stall], [:read, response_bytes("right")]])
      http = client(server.url)
      assert_interrupted(way) { http.post("/", body: Enumerator.new { |out| (out << "x") && sleep }) }
      assert_equal "right", http.get("/").body
    end
  end

  def test_the_callers_exception_arrives_unchanged
    server = serve(script: [%i[read stall]])
    thread = Thread.new { client(server.url).get("/") }
    thread.report_on_exception = false
    server.wait_for_requests(1)
    thread.raise(KeyError, "from outside")
    error = assert_raises(KeyError) { thread.value }
    assert_equal "from outside", error.message
  end

  def test_ensure_of_the_caller_runs_when_killed
    server = serve(script: [%i[read stall]])
    ran = false
    thread = Thread.new do
      client(server.url).get("/")
    ensure
      ran = true
    end
    server.wait_for_requests(1)
    thread.kill.join
    assert ran
  end

  def test_interrupts_can_be_deferred
    gate = Queue.new
    server = serve(script: [[:read, ->(_) { gate.pop }, response_bytes("whole")]])
    http = client(server.url)
    thread = Thread.new do
      Thread.handle_interrupt(Interruption => :never) { Thread.current[:body] = http.get("/").body }
    end
    thread.report_on_exception = false
    server.wait_for_requests(1)
    thread.raise(Interruption)
    gate << true
    assert_raises(Interruption) { thread.value }
    assert_equal "whole", thread[:body]
  end

  def test_a_signal_handler_runs_while_a_call_waits
    handled = false
    server = serve(script: [[:read, ->(_) { sleep 0.01 until handled }, response_bytes("whole")]])
    previous = trap(:USR1) { handled = true }
    signaller = Thread.new { server.wait_for_requests(1) && Process.kill(:USR1, Process.pid) }
    assert_equal "whole", client(server.url).get("/").body
  ensure
    trap(:USR1, previous)
    signaller.join
  end

  def test_other_threads_run_while_a_call_waits
    ticks = 0
    server = serve(script: [[:read, ->(_) { sleep 0.01 until ticks >= 10 }, response_bytes("whole")]])
    ticker = Thread.new { loop { sleep(0.01) && ticks += 1 } }
    assert_equal "whole", client(server.url).get("/").body
  ensure
    ticker.kill.join
  end

  def test_a_hundred_interrupted_calls_leave_nothing
    server = serve { |connection| connection.read_request && connection.stall }
    http = client(server.url)
    100.times do
      assert_raises(Interruption) { Timeout.timeout(0.01, Interruption) { http.get("/") } }
    end
    eventually { server.connections.compact.all?(&:ended) }
  end

  # Runs the call in a separate thread, which is interrupted while it waits.
  def self.interrupted_after(seconds, call)
    thread = Thread.new(&call)
    thread.report_on_exception = false
    sleep seconds
    yield thread
    thread.join
    raise Interruption unless thread.status
  end

  private

  def assert_interrupted(way, &call)
    seconds, = raised_after(Interruption) { INTERRUPTS.fetch(way).call(call) }
    assert_took 0.2, seconds, 0.1
  end

  def serve_stopping_in(phase)
    serve do |connection|
      next PHASES.fetch(phase).call(connection) if connection.number == 1

      connection.read_request
      connection << response_bytes("right")
    end
  end
end
