# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../support/http2/http2_test"

# One of the calls that share a connection reads for all (the leader). Whatever happens to the leader, the other calls
# must get their responses.
class TestLeader < HTTP2Test
  Interruption = Class.new(StandardError)

  def setup
    super
    @release = Queue.new
    # Responds to "/held" when the test permits it, to "/never" never, to all other paths at once.
    @server = serve_frames do |stream|
      case stream.target
      when "/never" then stream.stall
      when "/held"
        @release.pop
        stream.answer("held")
      else stream.answer(stream.target)
      end
    end
    @http = h2_client(@server.url, max_idle: 4)
    @http.get("/warm")
  end

  { kill: :kill.to_proc, raise: ->(thread) { thread.raise(Interruption) } }.each do |way, interrupt|
    define_method(:"test_others_go_on_when_the_reader_is_interrupted_by_#{way}") do
      reader = begun("/never")
      others = Array.new(3) { begun("/held") }
      interrupt.call(reader)
      reader.join rescue Interruption # rubocop:disable Style/RescueModifier
      assert_responses(others)
    end
  end

  def test_other_calls_go_on_when_the_reader_times_out
    reader = begun("/never", timeout: 0.3)
    others = Array.new(3) { begun("/held") }
    assert_instance_of Trunkline::TotalTimeout, reader.value
    assert_responses(others)
  end

  def test_other_calls_go_on_while_a_streamed_response_is_not_being_read
    response = @http.get("/warm", stream: true)
    others = Array.new(3) { begun("/held") }
    assert_responses(others)
    assert_equal "/warm", response.each.to_a.join
  end

  def test_other_calls_go_on_while_a_block_has_a_chunk
    others = []
    @http.get("/warm") do
      others = Array.new(3) { begun("/held") }
      assert_responses(others)
    end
    assert_equal 3, others.size
  end

  def test_other_calls_go_on_while_a_batch_is_in_its_block
    completed = false
    @http.batch do |batch|
      batch.get("/never", timeout: 1) { nil }
      batch.get("/first") do
        others = Array.new(3) { begun("/held") }
        assert_responses(others)
        completed = true
      end
    end
    assert completed
  end

  # The batch leads more connections than its list of them initially has room for, and other calls wait on each.
  def test_other_calls_go_on_on_many_connections_while_a_batch_is_in_its_block
    responses = Queue.new
    servers = Array.new(20) { serve_frames { |stream| respond_to_others(stream, responses) } }
    beside = Thread.new { begun_on(servers).tap { @release << true } }
    results = nil
    @http.batch do |batch|
      servers.each { |server| batch.get("#{server.url}never", timeout: 2) { nil } }
      batch.get("/held") do
        others = beside.value
        servers.size.times { responses << true }
        results = timed { others.map { |other| other.value.body } }
      end
    end
    seconds, bodies = results
    assert_equal ["ok"] * 20, bodies
    assert_took_less 0.4, seconds
  end

  # The main thread reads; the others must not wait until its signal handler has returned.
  def test_other_calls_go_on_while_the_reader_is_in_a_signal_handler
    entered = Queue.new
    leave = Queue.new
    previous = trap(:USR1) { entered << true && leave.pop }
    others = nil
    beside = Thread.new do
      others = Array.new(3) { begun("/held") }
      Process.kill(:USR1, Process.pid)
      entered.pop
      assert_responses(others)
    ensure
      leave << true
    end
    assert_raises(Trunkline::TotalTimeout) { @http.get("/never", timeout: 2) }
    beside.value
  ensure
    trap(:USR1, previous)
  end

  def test_other_calls_go_on_when_a_reactor_ends
    others = []
    Sync do |task|
      reading = task.async { @http.get("/never") }
      others = Array.new(3) { begun("/held") }
      reading.stop
    end
    assert_responses(others)
  end

  def test_fibers_and_threads_take_turns
    threads = Array.new(4) { |number| Thread.new { Array.new(25) { |call| @http.get("/t#{number}/#{call}").body } } }
    fibers = Sync do |task|
      Array.new(100) { |number| task.async { @http.get("/f#{number}").body } }.map(&:wait)
    end
    assert_equal Array.new(100) { |number| "/f#{number}" }, fibers
    assert_equal Array.new(4) { |number| Array.new(25) { |call| "/t#{number}/#{call}" } }, threads.map(&:value)
  end

  def teardown
    assert_equal 1, @server.connection_count if passed?
    super
  end

  private

  def respond_to_others(stream, responses)
    return stream.stall if stream.target == "/never"

    responses.pop
    stream.answer
  end

  # Starts a call to each server, after the batch's call on the same connection.
  def begun_on(servers)
    servers.each { |server| server.wait_for_requests(1) }
    calls = servers.map { |server| Thread.new { @http.get("#{server.url}other") } }
    servers.each { |server| server.wait_for_requests(2) }
    sleep 0.1
    calls
  end

  # Starts a call in a separate thread, and waits until its request has arrived.
  def begun(path, **options)
    seen = @server.requests.size
    thread = Thread.new { outcome { @http.get(path, **options) } }
    thread.report_on_exception = false
    assert @server.wait_for_requests(seen + 1), "the request for #{path} arrives"
    thread
  end

  def body_of(result) = result.is_a?(Trunkline::Response) ? result.body : result

  def assert_responses(threads)
    threads.each { @release << true }
    assert_equal(["held"] * threads.size, threads.map { |thread| body_of(thread.value) })
  end
end
