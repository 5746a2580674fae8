# frozen_string_literal: true

require_relative "step_lock"
require_relative "../../redacted"

module Trunkline
  module Engine
    # The engine in Ruby, used where there is no C engine: it uses sockets, and Ruby's openssl and zlib. Its other parts
    # are in the files beside this one, which no other code uses.
    module Ruby
      NEVER = Float::INFINITY
      # Seconds from which a timeout counts as no limit; system calls accept no larger value.
      LONG = 1e9

      # Monotonic seconds.
      def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # Returns the next greater whole number of milliseconds: never 0, which Java takes for no limit. Float#ceil is
      # slow on JRuby.
      def self.milliseconds(seconds) = (seconds * 1000).to_i + 1

      # JRuby cannot fork, and its Process.pid is slow.
      if RUBY_ENGINE == "jruby"
        PID = Process.pid
        def self.pid = PID
      else
        def self.pid = Process.pid
      end

      # Returns the scheduler of the current fiber, if Ruby has schedulers: JRuby 9.4 has none.
      # @return [Object, nil]
      if Fiber.respond_to?(:current_scheduler)
        def self.scheduler = Fiber.current_scheduler
      else
        def self.scheduler = nil
      end

      # Checks IOs without waiting, as IO.select with a timeout of 0, which a fiber scheduler would turn into a wait.
      if Fiber.respond_to?(:blocking)
        def self.poll(reading, writing, failed = nil) = Fiber.blocking { IO.select(reading, writing, failed, 0) }
      else
        def self.poll(reading, writing, failed = nil) = IO.select(reading, writing, failed, 0)
      end

      NOW = { Object => :immediate }.freeze
      LATER = { Object => :never }.freeze
      private_constant :NOW, :LATER

      # Runs a block that must not be interrupted: interrupts are deferred until its end.
      def self.uninterruptible(&block) = Thread.handle_interrupt(LATER, &block)

      # Runs the block of a new thread, which inherits the deferred interrupts of its creator.
      def self.interruptible(&block) = Thread.handle_interrupt(NOW, &block)

      # Wakes the thread or fiber that drives one exchange; see IOWaker for a Multi.
      class Waker
        include Redacted

        def initialize
          @lock = StepLock.new
          @changed = ConditionVariable.new
          @woken = false
        end

        def wake
          fiber = @lock.synchronize do
            @woken = true
            @changed.signal
            @fiber.tap { @fiber = nil }
          end
          @scheduler.unblock(self, fiber) if fiber
        end

        # @param timeout [Float] seconds
        def wait(timeout)
          timeout = nil if timeout > LONG
          return wait_in_fiber(timeout) if Ruby.scheduler

          @lock.synchronize do
            @lock.wait(@changed, timeout) unless @woken
            @woken = false
          end
        end

        # @return [Boolean] whether no thread drives its exchanges now
        def away? = false

        private

        # Calls the scheduler directly, so that an exception that ends the fiber need not wait for a lock.
        def wait_in_fiber(timeout)
          @scheduler = Ruby.scheduler
          @lock.synchronize { @fiber = Fiber.current unless @woken }
          @scheduler.block(self, timeout) if @fiber
        ensure
          @lock.synchronize do
            @fiber = nil
            @woken = false
          end
        end
      end
    end
  end
end
