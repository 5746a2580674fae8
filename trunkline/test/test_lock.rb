# frozen_string_literal: true

require_relative "support/signals"
require_relative "test_helper"

class TestLock < TrunklineTest
  include Signals

  def setup
    super
    @lock = Trunkline::Lock.new
    @condition = Trunkline::Condition.new
  end

  def test_the_interrupted_thread_has_the_lock
    entered = []
    results = in_handlers(1, -> { @lock.synchronize { sleep 0.05 } }) { @lock.synchronize { entered << true } && :done }
    assert_equal [[:done], [true]], [results, entered]
  end

  def test_another_thread_has_the_lock
    leave = Thread::Queue.new
    other = Thread.new { @lock.synchronize { leave.pop } }
    Thread.pass until other.stop?
    releasing = Thread.new { sleep(0.1) && leave << true }
    results = in_handlers(1, -> { sleep 0.01 }) { @lock.synchronize { :done } }
    assert_equal [:done], results
    [other, releasing].each(&:join)
  end

  def test_a_block_gets_true_in_a_signal_handler
    reported = in_handlers(1, -> { sleep 0.01 }) { @lock.synchronize { |in_handler| in_handler } }
    assert_equal [OWN_THREAD ? nil : true], reported
    assert_nil(@lock.synchronize { |in_handler| in_handler })
  end

  def notify
    @lock.synchronize { yield && @condition.broadcast }
  end

  def test_a_handler_waits_for_another_thread
    results = in_handlers(2, -> { sleep 0.01 }) do
      set = false
      other = Thread.new { sleep(0.05) && notify { set = true } }
      @lock.synchronize { @lock.wait(@condition, nil) until set }
      other.join && set
    end
    assert_equal [true, true], results
    assert_equal 1, @lock.synchronize { 1 }
  end

  def test_a_handler_waits_while_its_thread_does
    set = false
    main = -> { @lock.synchronize { @lock.wait(@condition, 0.01) } }
    results = in_handlers(1, main) do
      other = Thread.new { sleep(0.05) && notify { set = true } }
      @lock.synchronize { @lock.wait(@condition, nil) until set }
      other.join && set
    end
    assert_equal [true], results
  end

  def test_a_handler_cannot_wait_for_what_it_has_interrupted
    results = in_handlers(20, -> { @lock.synchronize { sleep 0.05 } }) do
      @lock.synchronize { @lock.wait(@condition, 0.01) } && nil
    rescue ThreadError => error
      error.message
    end
    refusals = OWN_THREAD ? [] : ["a signal handler cannot wait for what it has interrupted"]
    assert_equal refusals, results.compact.uniq
  end

  def test_an_exception_of_the_block_is_raised
    assert_raises(ThreadError) { @lock.synchronize { @lock.synchronize { flunk } } }
    error = assert_raises(ThreadError) { @lock.synchronize { raise ThreadError, "in a trap context of its own" } }
    assert_match(/its own/, error.message)
    assert_equal 1, @lock.synchronize { 1 }
  end
end
