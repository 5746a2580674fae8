# frozen_string_literal: true

require "java"
require_relative "bell"
require_relative "errors_on_jruby"

module Trunkline
  module Engine
    module Ruby
      # As Bell, for who waits with WatchOnJRuby.
      class BellOnJRuby < Bell
        # Seconds after which an interrupt of the thread is seen: JRuby knows nothing of its wait.
        INTERRUPTS = 0.02
        private_constant :INTERRUPTS

        # @return [Java::JavaNioChannels::Selector]
        attr_reader :selector

        def wake
          @rung.set(true)
          @selector.wakeup
        rescue Java::JavaNioChannels::ClosedSelectorException
          nil
        end

        # @param timeout [Numeric, nil] seconds
        # @return [Array<Java::JavaNioChannels::SelectionKey>] that are ready
        def select(timeout)
          left = timeout || NEVER
          due = Ruby.now + left
          left = due - Ruby.now until ends_within?(left)
          keys = @selector.selected_keys
          ready = keys.to_a
          keys.clear
          ready
        end

        def close = @selector.close

        private

        def open_ends
          @rung = java.util.concurrent.atomic.AtomicBoolean.new
          @selector = Java::JavaNioChannels::Selector.open
        rescue Java::JavaIo::IOException => error
          raise ErrorsOnJRuby.of(error)
        end

        # Waits once. @return [Boolean] whether something is ready, or it was rung, or the time is over
        def ends_within?(left)
          return wait([left, INTERRUPTS].min).positive? || left <= INTERRUPTS unless @rung.get_and_set(false)

          wait(0)
          true
        end

        def wait(seconds)
          return @selector.select_now if seconds <= 0
          return @selector.select((seconds * 1000).ceil) if Ruby.scheduler.nil?

          selector = @selector
          Thread.new { selector.select((seconds * 1000).ceil) }.value
        end
      end
    end
  end
end
