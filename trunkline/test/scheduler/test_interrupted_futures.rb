# frozen_string_literal: true

require_relative "../test_helper"

# A call of client.async may be interrupted between any two steps: still one thread drives the futures, and later
# futures get their responses.
class TestInterruptedFutures < TrunklineTest
  Interruption = Class.new(StandardError)
  FILES = %w[async future scheduler/future_thread].map do |name|
    File.expand_path("../../lib/trunkline/#{name}.rb", __dir__)
  end
  STEPS = %i[line call return b_call b_return c_call c_return].freeze

  def test_the_thread_is_started_once
    gate = Queue.new
    server = serve { |connection| connection << response_bytes while connection.read_request && gate.pop }
    http = client(server.url, max_idle: 8)
    before = Thread.list
    assert_raises(Interruption) { interrupted_when_a_thread_was_made { http.async.get("/") } }
    futures = Array.new(3) { http.async.get("/") }
    server.wait_for_requests(3)
    assert_equal 1, (Thread.list - before).count { |thread| thread.name == "trunkline futures" }
    8.times { gate << true }
    assert_equal [200] * 3, futures.map { |future| future.value!(5).status }
  end

  def test_later_futures_get_their_responses
    url = serve.url
    each_step do |interrupted|
      http = client(url, max_idle: 8)
      interrupted.call { http.async.get("/") }
      assert_equal 200, http.async.get("/").value!(5).status
      assert_quick { http.close }
    end
  end

  def test_a_cancelled_future_is_settled
    server = serve { |connection| connection.stall if connection.read_request }
    http = client(server.url, max_idle: 8, max_connections_per_host: 200)
    each_step do |interrupted|
      future = http.async.get("/")
      interrupted.call { future.cancel }
      future.cancel
      assert_instance_of Trunkline::Cancelled, future.value(5)
    end
  end

  # The futures' thread was not notified of the cancellation, so it drops the future when its turn comes, and ends.
  def test_a_cancelled_waiting_future_is_settled
    gate = Queue.new
    server = serve { |connection| connection << response_bytes if connection.read_request && gate.pop }
    http = client(server.url, max_idle: 8, max_connections_per_host: 1)
    first, second = Array.new(2) { http.async.get("/") }
    server.wait_for_requests(1)
    assert_raises(Interruption) { interrupted_when_it_was_settled(second) { second.cancel } }
    gate << true
    assert_equal 200, first.value!(5).status
    assert_instance_of Trunkline::Cancelled, second.value(5)
    assert_equal 1, server.requests.size
  end

  # When the caller defers interrupts while it starts the thread, the thread must still be killable.
  def test_the_thread_does_not_inherit_what_is_deferred
    server = serve(&:stall)
    http = client(server.url, max_idle: 8)
    before = Thread.list
    future = Thread.handle_interrupt(Object => :never) { http.async.get("/") }
    server.wait_for_connections(1)
    thread = (Thread.list - before).find { |one| one.name == "trunkline futures" }
    thread.kill
    assert thread.join(5)
    assert_instance_of Trunkline::Cancelled, future.value(5)
  end

  # The futures' thread runs out of memory: both futures must fail with that error, the one in flight and the one that
  # waits.
  def test_no_memory
    server = serve { |connection| connection.stall if connection.read_request }
    http = client(server.url, max_idle: 8, max_connections_per_host: 1)
    before = Thread.list
    futures = Array.new(2) { http.async.get("/") }
    server.wait_for_requests(1)
    thread = (Thread.list - before).find { |one| one.name == "trunkline futures" }
    thread.report_on_exception = false
    thread.raise(NoMemoryError, "failed to allocate memory")
    futures.each { |future| assert_instance_of NoMemoryError, future.value(5) }
    assert_raises(NoMemoryError) { futures.first.value!(5) }
    assert_equal 200, client(serve.url).async.get("/").value!(5).status
  end

  private

  # Yields a lambda that runs a block and interrupts it at its first step, then at its second, until it has no more.
  def each_step
    step = 0
    interrupted = true
    while interrupted
      step += 1
      yield(lambda do |&call|
        interrupted = false
        interrupted_at(step, &call)
      rescue Interruption
        interrupted = true
      end)
    end
    assert_operator step, :>, 20
  end

  def interrupted_at(step, &call)
    tested = Thread.current
    count = 0
    tracing(STEPS, call) do |event|
      FILES.include?(event.path) && Thread.current.equal?(tested) && (count += 1) == step
    end
  end

  def interrupted_when_a_thread_was_made(&call)
    return interrupted_behind_a_thread(&call) if RUBY_ENGINE == "jruby"

    tracing([:c_return], call) { |event| event.method_id == :new && event.self.equal?(Thread) }
  end

  # JRuby reports only the line after the thread's creation.
  def interrupted_behind_a_thread(&call)
    tested = Thread.current
    before = Thread.list
    tracing(%i[c_return line], call) do |event|
      FILES.include?(event.path) && Thread.current.equal?(tested) && (Thread.list - before).any?
    end
  end

  def interrupted_when_it_was_settled(future, &call)
    tracing([:return], call) { |event| event.method_id == :settle && event.self.equal?(future) }
  end

  def tracing(events, call)
    trace = TracePoint.new(*events) do |event|
      next unless yield event

      trace.disable
      raise Interruption
    end
    trace.enable
    call.call
  ensure
    trace.disable
  end
end
