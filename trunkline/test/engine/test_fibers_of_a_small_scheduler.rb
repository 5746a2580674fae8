# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/fiber_tests"
require_relative "../support/small_scheduler"

# Tests under a scheduler with only the hooks that Ruby requires.
class TestFibersOfASmallScheduler < TrunklineTest
  include FiberTests

  Cancelled = Class.new(StandardError)

  def concurrently(*procs)
    Thread.new do
      Thread.current.report_on_exception = false
      Fiber.set_scheduler(SmallScheduler.new)
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
