# frozen_string_literal: true

require_relative "support/fibers"
require_relative "test_helper"
require_relative "support/nghttpx"
require_relative "support/punctual_server"

# timings.gvl beside the truth: a server in another process gives the time at which it wrote the last byte.
class TestGVLWait < TrunklineTest
  TOLERANCE = 0.001
  CALLS = 3
  TRIES = 6
  # Seconds that one busy thread keeps the lock at the least: a part of Ruby's 100 ms.
  KEPT = 0.05
  QUANTUM = 0.1

  # Where the kernel does not tell when bytes came, what is read while another call waits counts as the server's time,
  # as what a Fiber scheduler waits for does.
  ARRIVALS_TOLD = RUBY_PLATFORM.include?("linux") && !ENV.key?("TRUNKLINE_POLL")

  # JRuby's threads wait for none.
  NO_LOCK = RUBY_ENGINE == "jruby"

  # What one call told, and what was true.
  Seen = Struct.new(:told, :truth, :first_byte) do
    def off = (truth - told).abs
  end

  def setup
    super
    @server = opened(PunctualServer.new)
    @client = client(@server.url)
  end

  def test_a_single_call
    assert_told { Array.new(CALLS) { seen(@client.get("/")) } }
  end

  def test_calls_of_several_threads
    assert_told do
      Array.new(3) { Thread.new { Array.new(2) { seen(@client.get("/")) } } }.flat_map(&:value)
    end
  end

  def test_a_batch
    assert_told { batch }
  end

  def test_each
    assert_told do
      all = []
      @client.each(Array.new(CALLS, "/"), concurrency: CALLS) { |_, response| all << seen(response) }
      all
    end
  end

  def test_futures
    assert_told do
      futures = @client.async
      Array.new(CALLS) { futures.get("/").then { |response| seen(response) } }.map { |future| future.value!(10) }
    end
  end

  def test_fibers
    assert_told_by_the_kernel { Sync { |task| Array.new(CALLS) { task.async { seen(@client.get("/")) } }.map(&:wait) } }
  end

  def test_a_batch_in_a_fiber
    assert_told_by_the_kernel { Sync { batch } }
  end

  def test_calls_that_share_a_connection
    front = opened(Nghttpx.new(@server.port)).tap(&:start)
    [front.ports[:plain], front.ports[:tls]].zip(%w[http https]) do |port, scheme|
      @client = client("#{scheme}://localhost:#{port}", http: :h2, ca_file: TestCA.ca_file)
      assert_told { batch }
    end
  end

  def test_a_batch_over_tls
    front = opened(Nghttpx.new(@server.port)).tap(&:start)
    @client = client("https://localhost:#{front.ports[:tls]}", http: :h1, ca_file: TestCA.ca_file)
    assert_told { batch }
  end

  # What its first bytes waited for the lock is no part of it. The last come when Ruby has taken those.
  def test_a_streamed_answer
    assert_told do
      body = +""
      response = @client.get("/streamed") { |chunk| body << chunk }
      [seen(response, body)]
    end
  end

  def test_a_streamed_answer_that_comes_at_once
    assert_told { Array.new(CALLS) { streamed } }
  end

  def test_a_block_that_takes_chunks_among_many
    assert_told do
      seen = nil
      take = ->(chunk, response) { seen = seen(response, chunk) }
      @client.batch { |batch| batch.get("/", on_chunk: take) }
      [seen]
    end
  end

  # On JRuby what lies between is the server's and the engine's own code, not compiled yet: about a millisecond.
  def test_a_call_that_waits_for_nobody
    return assert_nothing_waited if NO_LOCK

    close = Array.new(TRIES) { Array.new(CALLS) { seen(@client.get("/")) } }.find { |all| nearest(all) < TOLERANCE }
    refute_nil close
    assert_operator close.map(&:told).min, :<, TOLERANCE
  end

  def test_what_came_meanwhile_waits_no_second_time
    assert_waits(1) { batch }
    assert_waits(1) { @client.get("/", stream: true).read }
    assert_waits(1) { @client.get("/") { |chunk| chunk } }
  end

  def test_each_waits_once_for_those_that_are_in_flight
    assert_waits(8) { @client.each(Array.new(8 * CALLS, "/"), concurrency: CALLS) { |_, response| response.body } }
  end

  def test_fibers_wait_once_as_well
    assert_waits(1) { Sync { batch } }
    assert_waits(1) { Sync { @client.get("/", stream: true).read } }
  end

  # Each released the lock before, and waited QUANTUM for it.
  def test_calls_to_a_quick_server_wait_together
    spans = busy { Array.new(TRIES) { elapsed { 10.times { @client.get("/quick") } } } }
    assert_operator spans.min, :<, 5 * QUANTUM
    spans = busy { Array.new(TRIES) { elapsed { @client.each(Array.new(20, "/quick"), concurrency: 2) { nil } } } }
    assert_operator spans.min, :<, 5 * QUANTUM
  end

  def test_it_is_no_part_of_the_total
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
    assert_includes 0.005..elapsed, response.timings.total + seen.told
    seen
  end

  def batch
    all = []
    @client.batch(concurrency: CALLS) { |batch| CALLS.times { batch.get("/") { |response| all << seen(response) } } }
    all
  end

  def seen(response, body = response.body)
    truth = PunctualServer.since(body)
    Seen.new(response.timings.gvl, truth, response.timings.first_byte)
  end

  # Never more than was true; one no further off than a millisecond, and than the system let our threads wait for a
  # processor, of which the engine knows nothing; and none by as much as another thread keeps the lock. Calls that found
  # the lock free tell nothing, and are made again.
  def assert_told(&calls)
    return assert_nothing_told(&calls) if NO_LOCK

    tried = []
    limit = monotonic + PATIENCE
    while tried.size < TRIES && monotonic < limit
      all, kept_waiting = busy { [calls.call, kept_waiting_for_a_processor] }
      all.each { |one| assert_operator one.told, :<=, one.truth }
      waited = all.select { |one| one.truth > KEPT }
      next if waited.empty?
      return if nearest(waited) < TOLERANCE + kept_waiting && all_told?(waited, kept_waiting)

      tried << [kept_waiting, all.map { |one| [one.told, one.truth] }]
    end
    flunk "waits for a processor; told and true: #{tried}"
  end

  def elapsed
    began = monotonic
    yield
    monotonic - began
  end

  # Another thread keeps the lock for QUANTUM each time that the calls wait for it, and may take it when they need not.
  def assert_waits(most, &calls)
    spans, kept_waiting = busy { [Array.new(3) { elapsed(&calls) }, kept_waiting_for_a_processor] }
    assert_operator spans.sort[1], :<, (1.25 * most * QUANTUM) + KEPT + kept_waiting
  end

  def assert_told_by_the_kernel(&calls) = ARRIVALS_TOLD ? assert_told(&calls) : assert_nothing_told(&calls)

  def assert_nothing_told(&calls)
    all, kept_waiting = busy { [calls.call, kept_waiting_for_a_processor] }
    all.each do |one|
      assert_operator one.told, :<=, one.truth
      assert_operator one.told, :<, KEPT + kept_waiting
    end
  end

  def assert_nothing_waited
    all = Array.new(TRIES * CALLS) { seen(@client.get("/")) }
    all.each { |one| assert_operator one.told, :<=, one.truth }
    assert_operator all.map(&:told).min, :<, TOLERANCE
  end

  def all_told?(waited, kept_waiting)
    !ARRIVALS_TOLD ||
      waited.all? { |one| one.off < KEPT + kept_waiting && one.first_byte < (2 * KEPT) + kept_waiting }
  end

  def nearest(all) = all.map(&:off).min

  # Beside a thread that never gives up Ruby's lock by itself.
  def busy
    over = false
    @waited_before = waits_for_a_processor
    thread = Thread.new { nil until over }
    yield
  ensure
    over = true
    thread.join
  end

  # Since #busy began.
  def kept_waiting_for_a_processor = [waits_for_a_processor - @waited_before, 0].max

  # Seconds, of all threads that there are (Linux: Documentation/scheduler/sched-stats.rst).
  def waits_for_a_processor
    Dir["/proc/self/task/*/schedstat"].sum do |file|
      File.read(file).split[1].to_i
    rescue SystemCallError
      0 # the thread has ended
    end / 1e9
  end
end
