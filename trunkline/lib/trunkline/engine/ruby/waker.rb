# frozen_string_literal: true

require_relative "../../lock"
require_relative "../../redacted"

module Trunkline
  module Engine
    # The engine in Ruby, for where there is no engine in C: on sockets, and the openssl and zlib of Ruby. What is not
    # in it is in the files beside it, and used by no one else.
    module Ruby
      NEVER = Float::INFINITY
      # Seconds that nobody lives to see the end of, and that no system call takes.
      LONG = 1e9

      # Monotonic seconds.
      def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # JRuby, which cannot fork, asks the system in a slow way.
      if RUBY_ENGINE == "jruby"
        PID = Process.pid
        def self.pid = PID
      else
        def self.pid = Process.pid
      end

      # The scheduler of the fiber that runs, if Ruby knows of any: JRuby 9.4 does not.
      # @return [Object, nil]
      if Fiber.respond_to?(:current_scheduler)
        def self.scheduler = Fiber.current_scheduler
      else
        def self.scheduler = nil
      end

      NOW = { Object => :immediate }.freeze
      LATER = { Object => :never }.freeze
      private_constant :NOW, :LATER

      # For what must not be divided: interrupts wait until it is over.
      def self.uninterruptible(&block) = Thread.handle_interrupt(LATER, &block)

      # For a new thread, which inherits what its maker put off.
      def self.interruptible(&block) = Thread.handle_interrupt(NOW, &block)

      # Ends the wait of the thread or fiber that drives one exchange; see Bell for many.
      class Waker
        include Redacted

        def initialize
          @lock = Lock.new
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

        # @return [Boolean] whether nobody drives its exchanges now
        def away? = false

        private

        # The scheduler is asked itself: what ends the fiber from outside need not wait for a lock.
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
