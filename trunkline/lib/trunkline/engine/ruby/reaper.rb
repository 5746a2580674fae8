# frozen_string_literal: true

require "weakref"
require_relative "dropped"
require_relative "waker"

module Trunkline
  module Engine
    module Ruby
      # A thread that closes expired idle connections, and on JRuby expired selectors. It is started with the first of
      # them.
      module Reaper
        @lock = StepLock.new
        @changed = ConditionVariable.new
        @next_visit = NEVER

        class << self
          # @param time [Float] when a connection or selector expires
          def expect(time)
            return if @next_visit <= time

            @lock.synchronize do
              next if @next_visit <= time

              @next_visit = time
              @thread&.alive? ? @changed.signal : start
            end
          end

          def after_fork
            @lock = StepLock.new
            @changed = ConditionVariable.new
            @next_visit = NEVER
            @thread = nil
          end

          private

          def start
            @thread = Thread.new { Ruby.interruptible { run } }
            @thread.name = "trunkline reaper"
            @thread.report_on_exception = false
          end

          def run
            loop do
              wait
              Dropped.clean
              due = reap(Ruby.now)
              @lock.synchronize { @next_visit = due if due < @next_visit }
            end
          end

          # @return [Float] when the next one expires
          def reap(now)
            due = Pool.reap(now)
            RUBY_ENGINE == "jruby" ? [due, WaitOnJRuby.reap(now)].min : due
          end

          def wait
            @lock.synchronize do
              while (left = @next_visit - Ruby.now).positive?
                @lock.wait(@changed, left > LONG ? nil : left)
              end
              @next_visit = NEVER
            end
          end
        end
      end
    end
  end
end
