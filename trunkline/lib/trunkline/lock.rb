# frozen_string_literal: true

module Trunkline
  # A Mutex that can also be locked in a signal handler, where Ruby does not allow Mutex#lock.
  #
  # @api private
  class Lock
    # Maximum seconds that a signal handler sleeps in one #wait, before its caller checks the condition again.
    HANDLER_SLEEP = 0.002
    private_constant :HANDLER_SLEEP

    def initialize
      @mutex = Mutex.new
      @handler = nil
    end

    # @!method synchronize
    #   @yield [in_handler] while no other thread is in a block of this lock
    #   @yieldparam in_handler [true, nil] true in a signal handler
    #   @return [Object] what the block returns
    if RUBY_ENGINE == "jruby"
      # JRuby runs signal handlers in a thread of their own.
      def synchronize(&block) = @mutex.synchronize(&block)
    else
      def synchronize
        entered = false
        @mutex.synchronize do
          entered = true
          yield
        end
      rescue ThreadError => error
        raise if entered || !error.message.include?("trap context")

        in_handler { yield true }
      end
    end

    # Waits within a block of #synchronize, and releases the lock while it waits. May return early.
    # @param condition [Condition]
    # @param seconds [Float, nil] maximum wait; nil: no limit
    # @raise [ThreadError] in a signal handler that has interrupted a block of #synchronize: the wait could never end
    def wait(condition, seconds)
      @handler && Thread.current.equal?(Thread.main) ? wait_in_handler(seconds) : condition.wait(@mutex, seconds)
    end

    private

    # A signal handler runs in the main thread. If the main thread holds the lock already, the handler runs without
    # taking it. If another thread holds it, the handler waits until it is released.
    def in_handler
      outer = @handler
      locked = take
      @handler = locked ? :with_lock : :without_lock
      yield
    ensure
      @handler = outer
      @mutex.unlock if locked
    end

    # Ruby does not allow a signal handler to wait for a ConditionVariable.
    def wait_in_handler(seconds)
      raise ThreadError, "a signal handler cannot wait for what it has interrupted" if @handler == :without_lock

      @mutex.unlock
      sleep([seconds, HANDLER_SLEEP].compact.min)
    ensure
      take unless @mutex.owned?
    end

    # @return [Boolean] false when this thread holds the lock already
    def take
      until (locked = @mutex.try_lock) || @mutex.owned?
        Thread.pass
      end
      locked
    end
  end
end
