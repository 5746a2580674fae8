# frozen_string_literal: true

require_relative "support/fibers"
require_relative "test_helper"
require_relative "support/nghttpx"
require_relative "support/timestamp_server"

# Compares timings.gvl with the true wait: a server in another process sends the time at which it wrote the last byte.
class TestGVLWait < TrunklineTest
  TOLERANCE = 0.001
  CALLS = 3
  TRIES = 6
  # Minimum time in seconds for which one busy thread holds the GVL: a part of Ruby's 100 ms.
  KEPT = 0.05
  QUANTUM = 0.1

  # Without arrival times from the kernel, the wait before a read during the wait of another call counts as the server's
  # time, as does every wait in a Fiber scheduler.
  ARRIVALS_REPORTED = RUBY_PLATFORM.include?("linux") && !ENV.key?("TRUNKLINE_POLL")

  # JRuby's threads have no GVL to wait for.
  NO_LOCK = RUBY_ENGINE == "jruby"

  # The wait that one call reported, and the true one.
  Seen = Struct.new(:reported, :truth, :first_byte) do
    def off = (truth - reported).abs
  end

  def setup
    super
    @server = opened(TimestampServer.new)
    @client = client(@server.url)
  end

  def test_a_single_call
    assert_reported { Array.new(CALLS) { seen(@client.get("/")) } }
  end

  def test_calls_of_several_threads
    assert_reported do
      Array.new(3) { Thread.new { Array.new(2) { seen(@client.get("/")) } } }.flat_map(&:value)
    end
  end

  def test_a_batch
    assert_reported { batch }
  end

  def test_each
    assert_reported do
      all = []
      @client.each(Array.new(CALLS, "/"), concurrency: CALLS) { |_, response| all << seen(response) }
      all
    end
  end

  def test_futures
    assert_reported do
      futures = @client.async
      Array.new(CALLS) { futures.get("/").then { |response| seen(response) } }.map { |future| future.value!(10) }
    end
  end

  def test_fibers
    assert_reported_by_the_kernel do
      Sync { |task| Array.new(CALLS) { task.async { seen(@client.get("/")) } }.map(&:wait) }
    end
  end

  def test_a_batch_in_a_fiber
    assert_reported_by_the_kernel { Sync { batch } }
  end

  def test_calls_that_share_a_connection
    front = opened(Nghttpx.new(@server.port)).tap(&:start)
    [front.ports[:plain], front.ports[:tls]].zip(%w[http https]) do |port, scheme|
      @client = client("#{scheme}://localhost:#{port}", http: :h2, ca_file: TestCA.ca_file)
      assert_reported { batch }
    end
  end

  def test_a_batch_over_tls
    front = opened(Nghttpx.new(@server.port)).tap(&:start)
    @client = client("https://localhost:#{front.ports[:tls]}", http: :h1, ca_file: TestCA.ca_file)
    assert_reported { batch }
  end

  # timings.gvl does not include the wait after the first bytes: the last bytes arrive after Ruby has taken the first.
  def test_a_streamed_response
    assert_reported do
      body = +""
      response = @client.get("/streamed") { |chunk| body << chunk }
      [seen(response, body)]
    end
  end

  def test_a_streamed_response_that_comes_at_once
    assert_reported { Array.new(CALLS) { streamed } }
  end

  def test_a_block_that_takes_chunks_among_many
    assert_reported do
      seen = nil
      take = ->(chunk, response) { seen = seen(response, chunk) }
      @client.batch { |batch| batch.get("/", on_chunk: take) }
      [seen]
    end
  end

  # On JRuby the difference is the run time of code of the server and the engine that is not compiled yet: about a
  # millisecond.
  def test_a_call_without_other_threads
    return assert_nothing_waited if NO_LOCK

    close = Array.new(TRIES) { Array.new(CALLS) { seen(@client.get("/")) } }.find { |all| nearest(all) < TOLERANCE }
    refute_nil close
    assert_operator close.map(&:reported).min, :<, TOLERANCE
  end

  def test_data_received_during_the_wait_is_read_without_another_wait
    assert_waits(1) { batch }
    assert_waits(1) { @client.get("/", stream: true).read }
    assert_waits(1) { @client.get("/") { |chunk| chunk } }
  end

  def test_each_waits_once_for_all_requests_in_flight
    assert_waits(8) { @client.each(Array.new(8 * CALLS, "/"), concurrency: CALLS) { |_, response| response.body } }
  end

  def test_fibers_wait_once_as_well
    assert_waits(1) { Sync { batch } }
    assert_waits(1) { Sync { @client.get("/", stream: true).read } }
  end

  # If each of the calls released the GVL, each would wait QUANTUM to get it back.
  def test_calls_to_a_quick_server_wait_together
    spans = busy { Array.new(TRIES) { elapsed { 10.times { @client.get("/quick") } } } }
    assert_operator spans.min, :<, 5 * QUANTUM
    spans = busy { Array.new(TRIES) { elapsed { @client.each(Array.new(20, "/quick"), concurrency: 2) { nil } } } }
    assert_operator spans.min, :<, 5 * QUANTUM
  end

  def test_the_gvl_wait_is_no_part_of_the_total
    busy do
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      timings = @client.get("/").timings
      elapsed = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
      assert_operator timings.total, :>=, 0.005
      assert_operator timings.total + timings.gvl, :<=, elapsed
    end
  end

  private

  def streamed
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    response = @client.get("/", stream: true)
    assert_nil response.timings.total
    seen = seen(response)
    elapsed = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
    assert_includes 0.005..elapsed, response.timings.total + seen.reported
    seen
  end

  def batch
    all = []
    @client.batch(concurrency: CALLS) { |batch| CALLS.times { batch.get("/") { |response| all << seen(response) } } }
    all
  end

  def seen(response, body = response.body)
    truth = TimestampServer.since(body)
    Seen.new(response.timings.gvl, truth, response.timings.first_byte)
  end

  # Asserts that no call reports more than the truth; that the nearest one is off by less than a millisecond plus the
  # time for which the system let this process' threads wait for a CPU, of which the engine knows nothing; and that none
  # is off by as much as another thread holds the GVL. Calls that found the GVL free prove nothing, and are made again.
  def assert_reported(&calls)
    return assert_nothing_reported(&calls) if NO_LOCK

    tried = []
    limit = monotonic + PATIENCE
    while tried.size < TRIES && monotonic < limit
      all, kept_waiting = busy { [calls.call, kept_waiting_for_a_processor] }
      all.each { |one| assert_operator one.reported, :<=, one.truth }
      waited = all.select { |one| one.truth > KEPT }
      next if waited.empty?
      return if nearest(waited) < TOLERANCE + kept_waiting && all_reported?(waited, kept_waiting)

      tried << [kept_waiting, all.map { |one| [one.reported, one.truth] }]
    end
    flunk "waits for a processor; reported and true: #{tried}"
  end

  def elapsed
    began = monotonic
    yield
    monotonic - began
  end

  # Another thread holds the GVL for QUANTUM each time the calls wait for it, and may also take it at other times: the
  # second shortest of five spans counts.
  def assert_waits(most, &calls)
    spans, kept_waiting = busy { [Array.new(5) { elapsed(&calls) }, kept_waiting_for_a_processor] }
    assert_operator spans.sort[1], :<, (1.25 * most * QUANTUM) + KEPT + kept_waiting
  end

  def assert_reported_by_the_kernel(&calls)
    ARRIVALS_REPORTED ? assert_reported(&calls) : assert_nothing_reported(&calls)
  end

  def assert_nothing_reported(&calls)
    all, kept_waiting = busy { [calls.call, kept_waiting_for_a_processor] }
    all.each do |one|
      assert_operator one.reported, :<=, one.truth
      assert_operator one.reported, :<, KEPT + kept_waiting
    end
  end

  def assert_nothing_waited
    all = Array.new(TRIES * CALLS) { seen(@client.get("/")) }
    all.each { |one| assert_operator one.reported, :<=, one.truth }
    assert_operator all.map(&:reported).min, :<, TOLERANCE
  end

  def all_reported?(waited, kept_waiting)
    !ARRIVALS_REPORTED ||
      waited.all? { |one| one.off < KEPT + kept_waiting && one.first_byte < (2 * KEPT) + kept_waiting }
  end

  def nearest(all) = all.map(&:off).min

  # Runs the block while another thread never releases the GVL by itself.
  def busy
    over = false
    @waited_before = waits_for_a_processor
    thread = Thread.new { nil until over }
    yield
  ensure
    over = true
    thread.join
  end

  # Seconds that threads waited for a CPU since #busy began.
  def kept_waiting_for_a_processor = [waits_for_a_processor - @waited_before, 0].max

  # Seconds for which all existing threads waited for a CPU (Linux: Documentation/scheduler/sched-stats.rst).
  def waits_for_a_processor
    Dir["/proc/self/task/*/schedstat"].sum do |file|
      File.read(file).split[1].to_i
    rescue SystemCallError
      0 # the thread has ended
    end / 1e9
  end
end
