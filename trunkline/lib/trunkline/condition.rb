# frozen_string_literal: true

module Trunkline
  # A ConditionVariable for fibers too: Ruby 3.1 does not take the lock again for one that is stopped in its wait.
  #
  # @api private
  class Condition < ConditionVariable
    def wait(lock, seconds = nil)
      super
    ensure
      lock.lock unless lock.owned?
    end
  end
end
