# frozen_string_literal: true

module Trunkline
  # A Mutex that can be taken in a signal handler, where Ruby refuses to wait for one.
  #
  # @api private
  class Lock
    # Seconds after which a handler that waits looks again.
    LOOK = 0.002
    private_constant :LOOK

    def initialize
      @mutex = Mutex.new
      @handler = nil
    end

    # @yield [in_handler] while no other thread is in such a block
    # @yieldparam in_handler [true, nil] whether a signal handler calls
    # @return [Object] what the block returns
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

    # Waits within such a block, while others may be in one. May return early.
    # @param condition [Condition]
    # @param seconds [Float, nil] at the most
    # @raise [ThreadError] in a handler that has interrupted such a block: nobody could end the wait
    def wait(condition, seconds)
      @handler && Thread.current.equal?(Thread.main) ? wait_in_handler(seconds) : condition.wait(@mutex, seconds)
    end

    private

    # A handler interrupts the main thread between two of its steps, and goes on without the lock when that thread has
    # it. Another thread gives it back.
    def in_handler
      outer = @handler
      locked = take
      @handler = locked ? :with_lock : :without_lock
      yield
    ensure
      @handler = outer
      @mutex.unlock if locked
    end

    # Ruby lets no handler wait for a condition.
    def wait_in_handler(seconds)
      raise ThreadError, "a signal handler cannot wait for what it has interrupted" if @handler == :without_lock

      @mutex.unlock
      sleep([seconds, LOOK].compact.min)
    ensure
      take unless @mutex.owned?
    end

    # @return [Boolean] false when this thread has it
    def take
      until (locked = @mutex.try_lock) || @mutex.owned?
        Thread.pass
      end
      locked
    end
  end
end
