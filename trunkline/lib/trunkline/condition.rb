# frozen_string_literal: true

require_relative "timeouts"
require_relative "condition_on_jruby" if RUBY_ENGINE == "jruby"

module Trunkline
  # A ConditionVariable that also works for fibers: in Ruby 3.1, the wait of an interrupted fiber does not lock the
  # mutex again.
  #
  # @api private
  class Condition < ConditionVariable
    prepend ConditionOnJRuby if RUBY_ENGINE == "jruby" && Fiber.respond_to?(:current_scheduler)

    # Seconds are limited, because Ruby raises for more than its clock can count.
    def wait(lock, seconds = nil)
      super(lock, seconds && [seconds, Timeouts::ENDLESS].min)
    ensure
      lock.lock unless lock.owned?
    end
  end
end
