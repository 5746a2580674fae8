# frozen_string_literal: true

require_relative "timeouts"

module Trunkline
  # A ConditionVariable for fibers too: Ruby 3.1 does not take the lock again for one that is stopped in its wait.
  #
  # @api private
  class Condition < ConditionVariable
    # Ruby refuses to wait for more seconds than its own clock can count.
    def wait(lock, seconds = nil)
      super(lock, seconds && [seconds, Timeouts::ENDLESS].min)
    ensure
      lock.lock unless lock.owned?
    end
  end
end
