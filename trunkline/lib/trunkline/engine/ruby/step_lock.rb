# frozen_string_literal: true

require_relative "../../lock"

module Trunkline
  module Engine
    module Ruby
      # A Lock for the steps of exchanges. It never waits in a fiber scheduler, because another fiber could stop this
      # one during that wait, in the middle of a step: Thread.handle_interrupt does not defer Fiber#raise. A connection
      # that the step had taken would stay in use for ever. A block of this lock must not switch fibers.
      class StepLock < Lock
        if Fiber.respond_to?(:current_scheduler)
          # An alias, because `super` is slow on JRuby.
          alias wait_and_synchronize synchronize
          private :wait_and_synchronize

          def synchronize(&block)
            return wait_and_synchronize(&block) unless Ruby.scheduler

            until @mutex.try_lock
              # raises, or runs the block of a signal handler
              return wait_and_synchronize(&block) if @mutex.owned?

              Thread.pass
            end
            begin
              yield
            ensure
              @mutex.unlock
            end
          end
        end
      end
    end
  end
end
