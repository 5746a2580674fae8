# frozen_string_literal: true

require "java"
require_relative "io_waker"
require_relative "ending_on_jruby"
require_relative "errors_on_jruby"

module Trunkline
  module Engine
    module Ruby
      # An IOWaker for a Multi that waits with WatchOnJRuby.
      class IOWakerOnJRuby < IOWaker
        # Seconds after which an interrupt of the thread is noticed: JRuby does not interrupt this wait.
        INTERRUPTS = 0.02
        private_constant :INTERRUPTS

        # @return [Java::JavaNioChannels::Selector]
        attr_reader :selector

        def wake
          @woken.set(true)
          @selector.wakeup
        rescue Java::JavaNioChannels::ClosedSelectorException
          nil
        end

        # @param timeout [Numeric, nil] seconds
        # @return [Array<Java::JavaNioChannels::SelectionKey>] the keys that are ready
        def select(timeout)
          timeout ||= NEVER
          wait_until(Ruby.now + timeout - INTERRUPTS) unless over?(timeout)
          ready = @ready.to_a
          @ready.clear
          ready
        end

        def close = @selector.close

        private

        def open_ends
          @woken = java.util.concurrent.atomic.AtomicBoolean.new
          @selector = Java::JavaNioChannels::Selector.open
          @ready = @selector.selected_keys
        rescue Java::JavaIo::IOException => error
          raise ErrorsOnJRuby.of(error)
        end

        def open_later(error) = Ruby.raise_failure(Failure.of_system(:CONNECT, error, phase: :queue), nil)

        # JRuby checks for interrupts between two runs of a block, but not in an `until` loop around the same wait.
        def wait_until(due)
          loop { break if over?(due - Ruby.now) }
        end

        # Waits once. @return [Boolean] whether #select need not wait again
        def over?(seconds)
          if @woken.get_and_set(false)
            wait(0)
            return true
          end
          most = INTERRUPTS
          most = seconds if seconds < most # faster than Array#min on JRuby
          EndingOnJRuby.guarded { wait(most) }.positive? || seconds <= INTERRUPTS
        end

        def wait(seconds)
          return @selector.select_now if seconds <= 0

          scheduler = Ruby.scheduler
          milliseconds = Ruby.milliseconds(seconds)
          scheduler ? wait_in_fiber(scheduler, milliseconds) : @selector.select(milliseconds)
        end

        # Another thread does the wait. The scheduler is called directly, since JRuby's Thread#value would block all
        # fibers.
        def wait_in_fiber(scheduler, milliseconds)
          fiber = Fiber.current
          over = false
          thread = Thread.new do
            @selector.select(milliseconds)
          ensure
            over = true
            scheduler.unblock(self, fiber)
          end
          scheduler.block(self, nil) until over
          thread.value
        ensure
          end_wait(thread) if thread && !over
        end

        # After an exception that has ended the fiber's wait.
        def end_wait(thread)
          @selector.wakeup
          thread.join
        end
      end
    end
  end
end
