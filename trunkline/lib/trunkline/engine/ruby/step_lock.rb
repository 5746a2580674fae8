# frozen_string_literal: true

require_relative "../../lock"

module Trunkline
  module Engine
    module Ruby
      # A Lock for the steps of exchanges. It never waits in a fiber scheduler, because another fiber could stop this
      # one during that wait, in the middle of a step: Thread.handle_interrupt does not defer Fiber#raise. A connection
      # that the step had taken would stay in use for ever. A block of this lock must not switch fibers.
      class StepLock < Lock
        def synchronize(&block)
          return super unless Ruby.scheduler

          until @mutex.try_lock
            return super if @mutex.owned? # raises, or runs the block of a signal handler

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
