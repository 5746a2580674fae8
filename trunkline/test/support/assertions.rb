# frozen_string_literal: true

require_relative "gc_level"
require_relative "clock_jitter"

# Assertions that many tests of this suite share.
module Assertions
  # Permitted difference between a measured and an expected time, in seconds, in addition to the machine's own delay.
  TOLERANCE = 0.05 * GCLevel::SLOWDOWN
  # Seconds to wait for an event that normally occurs soon, but late on a slow and busy machine.
  PATIENCE = 20

  def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # Returns [seconds, result of the block].
  def timed
    start = monotonic
    result = yield
    [monotonic - start, result]
  end

  # raised_after { client.get(url) } returns the seconds and the error.
  def raised_after(*classes, &block)
    start = monotonic
    error = assert_raises(*classes, &block)
    [monotonic - start, error]
  end

  # @param since [Float] seconds since the measured span began, if it has not just ended
  def assert_took(expected, seconds, tolerance = TOLERANCE, since: seconds)
    late = ClockJitter.lateness(since)
    assert_includes (expected - tolerance)..(expected + tolerance + late), seconds,
                    "took #{seconds.round(3)} s, should have taken #{expected} s; the machine: #{late.round(3)} s late"
  end

  # Asserts that a span that has just ended was shorter than the limit.
  def assert_took_less(limit, seconds)
    late = ClockJitter.lateness(seconds)
    assert_operator seconds, :<, limit + late, "the machine: #{late.round(3)} s late"
  end

  def assert_quick(limit = 1.0, &block)
    seconds, result = timed(&block)
    assert_took_less limit, seconds
    result
  end

  # For assertions that hold only while responses arrive without delay: a block that fails while the machine was late
  # runs again.
  #
  # @param late [Float] total delay in seconds from which on the machine counts as late
  def while_on_time(late: 0.1, tries: 5)
    since = monotonic
    yield
  rescue Minitest::Assertion
    raise if (tries -= 1).zero? || ClockJitter.lateness(monotonic - since) < late

    retry
  end

  # assert_raises_with(Trunkline::ReadTimeout, phase: :read, sent: :all) { client.get(url) }
  def assert_raises_with(error_class, **facts, &block)
    error = assert_raises(error_class, &block)
    assert_instance_of error_class, error
    assert_facts(error, **facts)
    error
  end

  def assert_facts(error, **facts)
    facts.each do |name, expected|
      actual = error.public_send(name)
      case expected
      when nil then assert_nil actual, "#{name} of #{error.inspect}"
      else assert_operator expected, :===, actual, "#{name} was #{actual.inspect} in #{error.inspect}"
      end
    end
  end

  # Asserts that the server received exactly this many requests, and no more within `settle` seconds.
  def assert_attempts(expected, server, settle: 0.1)
    server.wait_for_requests(expected)
    sleep settle
    assert_equal expected, server.requests.size, "requests the server saw"
  end

  def assert_same_connection(first, second)
    assert_equal first.connection.id, second.connection.id, "both on one connection"
    assert_predicate second.connection, :reused?
  end

  def assert_different_connection(first, second)
    refute_equal first.connection.id, second.connection.id, "a connection was reused that must not be"
  end

  # An option that needs a newer openssl for Ruby is refused with a message that says so.
  def refused_by_openssl(&block)
    assert_match(/a newer openssl for Ruby/, assert_raises(Trunkline::TLSError, &block).message)
  end

  def eventually(message = "it never came true")
    limit = monotonic + PATIENCE
    until (result = yield)
      flunk message if monotonic > limit
      sleep 0.005
    end
    result
  end
end
