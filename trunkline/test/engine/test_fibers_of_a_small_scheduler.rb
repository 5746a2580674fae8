# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fiber_tests"
require_relative "../support/small_scheduler"

# Tests under a scheduler with only the hooks that Ruby requires.
class TestFibersOfASmallScheduler < TrunklineTest
  include FiberTests

  Cancelled = Class.new(StandardError)

  # Ruby calls io_select for each IO.select, even with a timeout of 0. Such a scheduler suspends the fiber.
  class SelectingScheduler < SmallScheduler
    attr_reader :selects

    def io_select(...)
      @selects = selects.to_i + 1
      Thread.new { IO.select(...) }.value
    end
  end

  def test_no_call_is_suspended_within_a_step
    server = serve
    scheduler = SelectingScheduler.new
    calls = [
      -> { client.get(server.url).body },
      -> { client.get(server.url, stream: true).read },
      -> { client(server.url).map(%w[/ /]).map(&:body).join }
    ]
    assert_equal %w[ok ok okok], concurrently(*calls, scheduler: scheduler)
    assert_nil scheduler.selects
  end

  def concurrently(*procs, scheduler: SmallScheduler.new)
    Thread.new do
      Thread.current.report_on_exception = false
      Fiber.set_scheduler(scheduler)
      scheduled(procs)
    ensure
      Fiber.set_scheduler(nil)
    end.value.map(&:value)
  end

  def concurrently_inside(*procs)
    results = scheduled(procs)
    sleep 0.01 until results.all?(&:over?)
    results.map(&:value)
  end

  def cancel_after(seconds, &block)
    concurrently(-> { cancel_after_inside(seconds, &block) })
  end

  def cancel_after_inside(seconds, &block)
    call = Fiber.schedule do
      block.call
    rescue Cancelled
      nil
    end
    sleep seconds
    call.raise(Cancelled)
  end

  # The outcome of a fiber.
  Outcome = Struct.new(:result, :error, :over?) do
    def value = error ? raise(error) : result
  end

  private

  def scheduled(procs)
    procs.map do |one|
      Outcome.new.tap do |outcome|
        Fiber.schedule do
          outcome.result = one.call
        rescue StandardError, Minitest::Assertion => error
          outcome.error = error
        ensure
          outcome[:over?] = true
        end
      end
    end
  end
end
