# frozen_string_literal: true

require_relative "../test_helper"

# Calls with policies in a signal handler, where Ruby's Mutex refuses to be taken.
class TestSignalHandlers < TrunklineTest
  POLICIES = { retry: true, breaker: true, rate: { per_second: 1e6 }, hedge: true, coalesce: true, cache: true,
               cookies: true, digest: %w[user secret] }.freeze

  # @return [Array] what the block returned in handlers of so many signals, while the main thread does something
  def in_handlers(count, meanwhile)
    results = []
    previous = trap(:USR1) { results << yield }
    sender = Thread.new { count.times { |number| Process.kill(:USR1, Process.pid) && wait_for(results, number + 1) } }
    meanwhile.call while sender.alive?
    sender.join
    results
  ensure
    trap(:USR1, previous)
  end

  def wait_for(results, count)
    deadline = Trunkline::Engine.now + 20
    sleep 0.001 until results.size >= count || Trunkline::Engine.now > deadline
  end

  def test_a_call_with_all_policies
    server = serve
    http = client(server.url, **POLICIES)
    results = in_handlers(3, -> { sleep 0.01 }) do
      http.get("/").status
    rescue StandardError => error
      error
    end
    assert_equal [200] * 3, results
  end

  def test_while_the_main_thread_makes_such_calls
    server = serve
    http = client(server.url, **POLICIES, coalesce: false)
    number = 0
    results = in_handlers(50, -> { http.get("/#{number += 1}") }) do
      http.get("/handler").status
    rescue StandardError => error
      error
    end
    assert_equal [200] * 50, results
    assert_equal 0, http.stats[:in_use]
  end

  def test_the_interrupted_thread_has_the_lock
    lock = Trunkline::Lock.new
    entered = []
    results = in_handlers(1, -> { lock.synchronize { sleep 0.05 } }) { lock.synchronize { entered << true } && :done }
    assert_equal [[:done], [true]], [results, entered]
  end

  def test_another_thread_has_the_lock
    lock = Trunkline::Lock.new
    leave = Thread::Queue.new
    other = Thread.new { lock.synchronize { leave.pop } }
    Thread.pass until other.stop?
    releasing = Thread.new { sleep(0.1) && leave << true }
    results = in_handlers(1, -> { sleep 0.01 }) { lock.synchronize { :done } }
    assert_equal [:done], results
    [other, releasing].each(&:join)
  end

  def test_what_the_block_raises_is_raised
    lock = Trunkline::Lock.new
    assert_raises(ThreadError) { lock.synchronize { lock.synchronize { flunk } } }
    error = assert_raises(ThreadError) { lock.synchronize { raise ThreadError, "in a trap context of its own" } }
    assert_match(/its own/, error.message)
    assert_equal 1, lock.synchronize { 1 }
  end
end
