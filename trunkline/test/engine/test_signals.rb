# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/interruptible"

# A signal's handler runs in the main thread at once, whatever that thread waits for, and whatever other threads do.
class TestSignals < TrunklineTest
  # The activity of another thread of the process.
  OTHERS = {
    nothing: "",
    a_sleeping_thread: "Thread.new { sleep }",
    a_thread_that_waits_in_a_queue: "queue = Queue.new; Thread.new { queue.pop }",
    a_thread_in_a_call: "Thread.new { http.get(silent) }",
    a_busy_thread: "Thread.new { loop { 1 + 1 } }"
  }.freeze

  # Calls each of which waits for ever in one phase.
  CALLS = {
    connect: "http.get(unconnected)",
    queue: "one = Trunkline.new(timeout: 30, max_connections_per_host: 1, max_idle: 1); " \
           "held = one.get(stopping, stream: true); begin one.get(silent) ensure held.close end",
    tls: "http.get(silent.sub('http', 'https'))",
    write: "http.put(silent, body: large)",
    first_byte: "http.get(silent)",
    polling: "http.with(busy_poll: true).get(silent)",
    read: "http.get(stopping)",
    block: "http.get(stopping) { |chunk| chunk }",
    pull: "http.get(stopping, stream: true).each { |chunk| chunk }",
    batch: "http.batch { |batch| 3.times { batch.get(silent) } }",
    batch_read: "http.batch { |batch| batch.get(stopping) }",
    each: "http.each([silent] * 3) { |*| nil }",
    map: "http.map([silent] * 3)",
    future: "http.async.get(silent).value"
  }.freeze

  def setup
    super
    # Never responds, except that "/stopping" gets the beginning of a response.
    @server = serve do |connection|
      request = connection.read_head_only
      connection << "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" if request&.target == "/stopping"
      request&.verb == "PUT" ? sleep : connection.stall
    end
    @backlog = opened(FullBacklog.new)
  end

  OTHERS.each do |name, code|
    define_method(:"test_ctrl_c_beside_#{name}") do
      # CRuby 3.1 lets whichever thread sleeps first read the pipe that reports signals.
      took = Interruptible.run("#{prelude}#{code}\nsleep 0.1", CALLS, :INT)
      CALLS.each_key { |call| assert_operator took.fetch(call), :<, 0.5 + took[:late], "#{call} beside #{name}" }
    end
  end

  def test_a_call_continues_after_a_signal_handler
    gate = Queue.new
    server = serve { |connection| connection << response_bytes("whole") while connection.read_request && gate.pop }
    out = Subprocess.interact(<<~RUBY) do |pid, _|
      Thread.new { sleep }
      trap(:USR1) { $stdout.syswrite("handled ") }
      puts :ready
      puts Trunkline.new(#{server.url.inspect}, timeout: 20).get("/").body
    RUBY
      server.wait_for_requests(1)
      Process.kill(:USR1, pid)
      sleep 0.5
      gate << true
    end.out
    assert_equal "handled whole\n", out
  end

  private

  def prelude
    <<~RUBY
      http = Trunkline.new(timeout: 30)
      large = "x" * 50_000_000
      silent, stopping, unconnected = #{@server.url("/").inspect}, #{@server.url("/stopping").inspect}, #{@backlog.url.inspect}
      #{REHEARSAL if RUBY_ENGINE == "jruby"}
    RUBY
  end

  # JRuby loads Java's TLS classes at the first handshake: a second of work, in which nothing waits.
  REHEARSAL = <<~RUBY
    begin
      http.with(timeout: 1).get(silent.sub("http", "https"))
    rescue Trunkline::TimeoutError
      nil
    end
  RUBY
  private_constant :REHEARSAL
end
