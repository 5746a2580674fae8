# frozen_string_literal: true

require_relative "../../../support/unit_test"
require "trunkline"

class TestCircuit < UnitTest
  Breaker = Trunkline::Policy::Breaker

  # The part of a call that a Circuit uses: its clock, which a test moves, and the receiver of state changes.
  Clock = Struct.new(:now, :reported) do
    def notify(_kind, facts) = reported << facts.values_at(:state, :retry_in)
  end

  def setup
    @clock = Clock.new(1000.0, [])
  end

  def circuit(**settings) = Breaker::Circuit.new(Breaker::OPTIONS.read(settings))

  def succeed(circuit, times = 1) = times.times { assert_equal :ok, circuit.run(@clock, nil) { :ok } }

  def fail_in(circuit, times = 1)
    times.times { assert_raises(Breaker::Failed) { circuit.run(@clock, nil) { raise Breaker::Failed, :no } } }
  end

  def refused(circuit) = assert_raises(Breaker::Refused) { circuit.run(@clock, nil) { flunk } }

  def state(circuit) = circuit.to_h(@clock.now)[:state]

  def opened(minimum: 1, **settings)
    circuit = circuit(minimum: minimum, **settings)
    fail_in(circuit, minimum)
    refused(circuit)
    circuit
  end

  def test_the_circuit_opens_at_the_threshold_after_the_minimum
    circuit = circuit(threshold: 0.5, minimum: 10)
    fail_in(circuit, 9)
    assert_equal :closed, state(circuit)
    fail_in(circuit)
    assert_equal :open, state(circuit)

    circuit = circuit(threshold: 0.5, minimum: 10)
    succeed(circuit, 10)
    fail_in(circuit, 9)
    assert_equal :closed, state(circuit)
    fail_in(circuit)
    assert_equal :open, state(circuit)
  end

  def test_only_the_window_counts
    circuit = circuit(minimum: 4, window: 10)
    fail_in(circuit, 3)
    @clock.now += 11
    fail_in(circuit)
    assert_equal [:closed, 1, 1], circuit.to_h(@clock.now).values_at(:state, :requests, :failures)
    @clock.now += 5
    fail_in(circuit, 3)
    assert_equal :open, state(circuit)
  end

  def test_the_window_slides
    circuit = circuit(minimum: 1000, window: 10)
    20.times do
      succeed(circuit)
      @clock.now += 1
    end
    assert_includes 9..10, circuit.to_h(@clock.now)[:requests]
  end

  def test_an_open_circuit_refuses_until_the_cool_down_is_over
    circuit = opened(cool_down: 5)
    @clock.now += 3
    assert_in_delta 2.0, refused(circuit).retry_in, 0.001
    assert_equal :open, state(circuit)
    @clock.now += 2
    assert_equal :half_open, state(circuit)
    succeed(circuit)
    assert_equal :closed, state(circuit)
  end

  def test_a_closed_circuit_counts_from_zero
    circuit = opened(minimum: 2, threshold: 1.0)
    @clock.now += 5
    succeed(circuit)
    fail_in(circuit)
    assert_equal :closed, state(circuit)
  end

  def test_a_probe_that_fails_opens_it_again
    circuit = opened(cool_down: 5)
    @clock.now += 5
    fail_in(circuit)
    assert_in_delta 5.0, refused(circuit).retry_in, 0.001
    assert_equal 2, circuit.to_h(@clock.now)[:openings]
  end

  def test_at_most_the_configured_number_of_probes
    circuit = opened(probes: 2)
    @clock.now += 5
    circuit.run(@clock, nil) do
      circuit.run(@clock, nil) { assert_match(/probe is under way/, refused(circuit).message) }
      assert_equal :half_open, state(circuit)
      refused(circuit)
    end
    assert_equal :closed, state(circuit)
  end

  def test_all_probes_must_succeed
    circuit = opened(probes: 3)
    @clock.now += 5
    succeed(circuit, 2)
    assert_equal :half_open, state(circuit)
    fail_in(circuit)
    assert_equal :open, state(circuit)
  end

  def test_a_probe_without_a_result_frees_its_slot
    circuit = opened
    @clock.now += 5
    assert_raises(IOError) { circuit.run(@clock, nil) { raise IOError } }
    assert_equal(:thrown, catch(:out) { circuit.run(@clock, nil) { throw :out, :thrown } })
    assert_equal :half_open, state(circuit)
    succeed(circuit)
    assert_equal :closed, state(circuit)
  end

  def test_a_probe_that_never_ends_keeps_its_slot_for_one_cool_down
    circuit = opened(cool_down: 5)
    @clock.now += 5
    probe = Fiber.new { circuit.run(@clock, nil) { Fiber.yield } }
    probe.resume
    @clock.now += 4.9
    assert_in_delta 0.1, refused(circuit).retry_in, 0.001
    @clock.now += 0.1
    succeed(circuit)
    assert_equal :closed, state(circuit)
  end

  def test_results_of_requests_from_before_are_ignored
    circuit = circuit(minimum: 1, cool_down: 5)
    late = Array.new(3) { Fiber.new { circuit.run(@clock, nil) { Fiber.yield } } }
    late.each(&:resume)
    fail_in(circuit)
    late[0].resume # its call began while the circuit was closed; it is open now
    assert_equal :open, state(circuit)
    @clock.now += 5
    circuit.run(@clock, nil) { late[1].resume } # the circuit is half-open now
    assert_equal :closed, state(circuit)
    assert_raises(Breaker::Failed) { late[2].raise(Breaker::Failed, :no) }
    assert_equal :closed, state(circuit)
  end

  def test_a_call_without_a_result_is_not_counted
    circuit = circuit(minimum: 1)
    assert_raises(IOError) { circuit.run(@clock, nil) { raise IOError } }
    assert_equal 0, circuit.to_h(@clock.now)[:requests]
  end

  def test_each_change_of_state_is_reported
    circuit = opened(cool_down: 5)
    @clock.now += 5
    fail_in(circuit)
    @clock.now += 5
    succeed(circuit)
    assert_equal [[:open, 5.0], [:half_open, 5.0], [:open, 5.0], [:half_open, 5.0], [:closed, nil]], @clock.reported
  end

  def test_a_listener_may_read_the_state
    circuit = circuit(minimum: 1)
    states = []
    @clock.define_singleton_method(:notify) { |*| states << circuit.to_h(now)[:state] }
    fail_in(circuit)
    assert_equal %i[open], states
  end

  def test_to_h_reports_the_state
    circuit = circuit(minimum: 2)
    succeed(circuit)
    assert_equal({ state: :closed, requests: 1, failures: 0, openings: 0, opened_at: nil, retry_in: nil },
                 circuit.to_h(@clock.now))
    fail_in(circuit)
    stats = circuit.to_h(@clock.now)
    assert_equal({ state: :open, requests: 2, failures: 1, openings: 1, retry_in: 5.0 }, stats.except(:opened_at))
    assert_in_delta Time.now, stats[:opened_at], 5
  end

  def test_one_of_many_threads_gets_the_probe
    circuit = opened
    @clock.now += 5
    hold = Thread::Queue.new
    threads = Array.new(20) { Thread.new { attempt(circuit) { hold.pop } } }
    Thread.pass until threads.one?(&:alive?)
    assert_equal :half_open, state(circuit)
    hold << true
    assert_equal({ nil => 1, Breaker::Refused => 19 }, threads.map(&:value).tally)
    assert_equal :closed, state(circuit)
  end

  def test_threads_lose_no_count
    circuit = circuit(minimum: 1_000_000)
    failing = ->(number) { 500.times { attempt(circuit) { number.even? || (raise Breaker::Failed, :no) } } }
    Array.new(8) { |number| Thread.new { failing.call(number) } }.each(&:join)
    assert_equal [4000, 2000], circuit.to_h(@clock.now).values_at(:requests, :failures)
  end

  # @return [Class, nil] the exception's class
  def attempt(circuit, &block)
    circuit.run(@clock, nil, &block)
    nil
  rescue Breaker::Failed, Breaker::Refused => error
    error.class
  end
end
