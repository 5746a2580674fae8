# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../test_helper"
require "trunkline/faraday"
require "trunkline/typhoeus"

# An interrupt that occurs in the caller's own code, while one of many requests is processed, ends all of them at once.
# An exception that this code itself raises affects only its own request.
class TestCallbackInterrupts < TrunklineTest
  Interruption = Class.new(StandardError)
  # The limit for Timeout in seconds, after which the caller's code is running.
  GIVEN = 0.3

  # Signs requests by running a block.
  Signer = Struct.new(:run) do
    def sign(_request) = run.call && nil
    def retry?(_response) = false
  end

  # Ways of ending a call; each takes the call, and a queue that is filled when the caller's code is running.
  INTERRUPTS = {
    raise: ->(call, reached) { interrupted(call, reached) { |thread| thread.raise(Interruption, "from outside") } },
    kill: ->(call, reached) { interrupted(call, reached, &:kill) },
    timeout_with_a_class: ->(call, _) { Timeout.timeout(GIVEN, Interruption) { call.call } },
    timeout: ->(call, _) { Timeout.timeout(GIVEN) { call.call } },
    timeout_of_a_fiber: ->(call, _) { Sync { |task| task.with_timeout(GIVEN, Interruption) { call.call } } }
  }.freeze

  # Places of the caller's code. Each test makes several requests: one does not end by itself, and one runs `lasting`,
  # which does not return.
  PLACES = %i[block on_error body enumerable_body each map progress source signer ready_future hydra faraday].freeze
  # Code in an Enumerator or a signer runs in a fiber without the scheduler, so it blocks its thread.
  IN_FIBERS_OF_THEIR_OWN = %i[enumerable_body source signer].freeze

  # Runs the call in a separate thread.
  def self.interrupted(call, reached)
    thread = Thread.new do
      call.call
    ensure
      reached << true
    end
    thread.report_on_exception = false
    reached.pop
    yield thread
    thread.join
    raise Interruption unless thread.status
  end

  def setup
    super
    @server = serve do |connection|
      while (request = connection.read_request)
        request.target == "/stall" ? connection.stall : connection << response_bytes
      end
    end
    @http = client(@server.url)
  end

  INTERRUPTS.each do |way, interrupt|
    places = way == :timeout_of_a_fiber ? PLACES - IN_FIBERS_OF_THEIR_OWN : PLACES
    places.each do |place|
      define_method(:"test_#{way}_in_#{place}") do
        reached = Queue.new
        lasting = -> { (reached << true) && sleep }
        call = -> { send(:"in_#{place}", lasting) }
        seconds, = raised_after(Interruption, Timeout::Error) { interrupt.call(call, reached) }
        assert_took_less 2.5, seconds
        assert_equal 200, @http.get("/after").status
      end
    end
  end

  PLACES.each do |place|
    define_method(:"test_throw_in_#{place}") do
      seconds, thrown = timed { catch(:out) { send(:"in_#{place}", -> { throw :out, "thrown" }) } }
      assert_equal "thrown", thrown
      assert_took_less 2.5, seconds
    end
  end

  def test_an_uncaught_throw_is_the_error_of_its_request
    body = Enumerator.new { |_| throw :nobody }
    failed, other = @http.map([[:post, "/", { body: body }], "/"])
    assert_instance_of UncaughtThrowError, failed
    assert_equal 200, other.status
  end

  def test_interrupted_requests_are_listed_as_cancelled
    reached = Queue.new
    batch = @http.batch
    batch.get("/stall")
    batch.get("/") { (reached << true) && sleep }
    error = assert_raises(Interruption) { INTERRUPTS.fetch(:raise).call(batch.method(:run), reached) }
    assert_equal "from outside", error.message
    assert_equal([[:get, "/stall"]], batch.cancelled.map { |verb, path| [verb.downcase.to_sym, path] })
    assert_instance_of Trunkline::Cancelled, batch.results.first
    assert_empty batch.errors
  end

  def test_an_exception_that_is_raised_in_the_fiber_from_outside_is_an_interrupt
    fiber = Fiber.new { in_block(-> { Fiber.yield }) }
    fiber.resume
    seconds, = raised_after(Interruption) { fiber.raise(Interruption) }
    assert_took_less 2.5, seconds
  end

  def test_an_interrupt_wrapped_by_the_block_still_interrupts
    error = assert_raises(KeyError) do
      Timeout.timeout(GIVEN, Interruption) do
        in_block(lambda do
          sleep
        rescue Interruption
          raise KeyError, "wrapped"
        end)
      end
    end
    assert_instance_of Interruption, error.cause
  end

  def test_an_interrupt_rescued_by_the_block_does_not_end_the_batch
    taken = 0
    results = @http.batch do |batch|
      batch.get("/") do
        Timeout.timeout(0.05, Interruption) { sleep }
      rescue Interruption
        taken += 1
      end
      batch.get("/other")
    end
    assert_equal [1, [200]], [taken, results.map(&:status)]
  end

  # Like Net::HTTP's timeout for opening a connection.
  def test_a_timeout_inside_a_block_ends_only_its_request
    completed = 0
    error = assert_raises(Interruption) do
      @http.batch do |batch|
        batch.get("/") { Timeout.timeout(0.05, Interruption) { sleep } }
        batch.get("/") { batch.get("/next") { completed += 1 } }
      end
    end
    assert_equal "execution expired", error.message
    assert_equal 1, completed
  end

  # An exception raised in another thread from outside is an ordinary error when it is raised again here.
  def test_an_interrupt_of_another_thread_is_an_ordinary_error
    other = Thread.new { @http.each(%w[/stall]) { nil } }
    other.report_on_exception = false
    @server.wait_for_requests(1)
    other.raise(Interruption)
    completed = 0
    assert_raises(Interruption) do
      @http.batch do |batch|
        batch.get("/") { other.value }
        batch.get("/") { batch.get("/next") { completed += 1 } }
      end
    end
    assert_equal 1, completed
  end

  def test_no_other_body_is_read_after_an_interrupt
    calls = Queue.new
    lasting = -> { (calls << true) && sleep }
    assert_raises(Interruption) do
      Timeout.timeout(GIVEN, Interruption) { @http.batch { |batch| 3.times { batch.post("/", body: lasting) } } }
    end
    assert_equal 1, calls.size
  end

  private

  def in_block(lasting)
    @http.batch { |batch| batch.get("/stall") || batch.get("/") { lasting.call } }
  end

  def in_on_error(lasting)
    @http.batch(on_error: ->(*) { lasting.call }) { |batch| batch.get("/stall") || batch.get("/") { raise "own" } }
  end

  def in_body(lasting)
    @http.batch { |batch| batch.get("/stall") || batch.post("/", body: lasting) }
  end

  def in_enumerable_body(lasting)
    body = Enumerator.new { |out| (out << "x") && lasting.call }
    @http.map(["/stall", [:post, "/", { body: body }]])
  end

  def in_each(lasting)
    @http.each(%w[/stall /]) { lasting.call }
  end

  def in_map(lasting)
    @http.map(%w[/stall /]) { lasting.call }
  end

  def in_progress(lasting)
    @http.each(%w[/stall /], progress: ->(_) { lasting.call }) { nil }
  end

  def in_source(lasting)
    @http.each(Enumerator.new { |out| (out << "/stall") && lasting.call }) { nil }
  end

  def in_signer(lasting)
    @http.with(auth: Signer.new(lasting)).map(%w[/stall /])
  end

  def in_ready_future(lasting)
    @http.async.get("/").tap(&:value!).then { lasting.call }.value!
  end

  def in_hydra(lasting)
    requests = %w[stall quick].map { |path| Typhoeus::Request.new(@server.url + path, timeout: 5) }
    requests.last.on_complete { lasting.call }
    hydra = Typhoeus::Hydra.new
    requests.each { |request| hydra.queue(request) }
    hydra.run
  ensure
    Typhoeus::Pool.clear
  end

  def in_faraday(lasting)
    connection = Faraday.new(@server.url, request: { timeout: 5 }) { |faraday| faraday.adapter(:trunkline) }
    connection.in_parallel do
      connection.get("/stall")
      connection.get("/").on_complete { lasting.call }
    end
  ensure
    connection.close
  end
end
