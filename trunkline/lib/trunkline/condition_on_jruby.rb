# frozen_string_literal: true

module Trunkline
  # Lets a fiber of a scheduler wait for a Condition: JRuby's ConditionVariable would block all fibers of the thread,
  # also the one that is waited for.
  #
  # @api private
  module ConditionOnJRuby
    def initialize
      super
      @fibers = {}.compare_by_identity # with their schedulers
      @changing = Mutex.new
    end

    def wait(lock, seconds = nil)
      scheduler = Fiber.current_scheduler
      scheduler ? wait_in_fiber(scheduler, lock, seconds) : super
    end

    def signal
      wake_fibers
      super
    end

    def broadcast
      wake_fibers
      super
    end

    private

    def wait_in_fiber(scheduler, lock, seconds)
      fiber = Fiber.current
      @changing.synchronize { @fibers[fiber] = scheduler }
      lock.unlock
      scheduler.block(self, seconds && [seconds, Timeouts::ENDLESS].min)
    ensure
      @changing.synchronize { @fibers.delete(fiber) }
      lock.lock unless lock.owned?
    end

    # Wakes all of them, since a wait may return early.
    def wake_fibers
      @changing.synchronize { @fibers.each { |fiber, scheduler| scheduler.unblock(self, fiber) } }
    end
  end
end
