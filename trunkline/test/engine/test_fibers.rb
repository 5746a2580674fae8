# frozen_string_literal: true

require_relative "../support/fibers"
require_relative "../test_helper"
require_relative "../support/fiber_tests"

# Tests under Async, the scheduler that most services use.
class TestFibersOfAsync < TrunklineTest
  include FiberTests

  def concurrently(*procs)
    Sync { |task| procs.map { |one| task.async { one.call } }.map(&:wait) }
  end
  alias concurrently_inside concurrently

  def cancel_after(seconds, &block)
    Sync do |task|
      call = task.async(&block)
      sleep seconds
      call.stop
      call.wait
    end
  end
  alias cancel_after_inside cancel_after
end
