# frozen_string_literal: true

require_relative "gc_level"
require_relative "metronome"

# What this suite asks again and again.
module Assertions
  # How far a real time may be from the asked one, in seconds, beside what the machine itself is late.
  TOLERANCE = 0.05 * GCLevel::SLOWDOWN
  # Seconds for what comes soon, and at some time on a machine that is slow and busy.
  PATIENCE = 20

  def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # [seconds, result of the block]
  def timed
    start = monotonic
    result = yield
    [monotonic - start, result]
  end

  # raised { client.get(url) }: the error, and how long it took.
  def raised_after(*classes, &block)
    start = monotonic
    error = assert_raises(*classes, &block)
    [monotonic - start, error]
  end

  # @param since [Float] seconds since it began, when it is not over just now
  def assert_took(expected, seconds, tolerance = TOLERANCE, since: seconds)
    late = Metronome.lateness(since)
    assert_includes (expected - tolerance)..(expected + tolerance + late), seconds,
                    "took #{seconds.round(3)} s, should have taken #{expected} s; the machine: #{late.round(3)} s late"
  end

  # Something that is just over took less than that.
  def assert_took_less(limit, seconds)
    late = Metronome.lateness(seconds)
    assert_operator seconds, :<, limit + late, "the machine: #{late.round(3)} s late"
  end

  def assert_quick(limit = 1.0, &block)
    seconds, result = timed(&block)
    assert_took_less limit, seconds
    result
  end

  # For what holds while answers come when they are sent: a block that fails while the machine was late is run again.
  #
  # @param late [Float] seconds in all, from which on it was
  def while_on_time(late: 0.1, tries: 5)
    since = monotonic
    yield
  rescue Minitest::Assertion
    raise if (tries -= 1).zero? || Metronome.lateness(monotonic - since) < late

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

  # The server saw exactly this many requests, and no more come.
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

  # What needs a newer openssl for Ruby is refused, which says so.
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
