# frozen_string_literal: true

module Trunkline
  # A Mutex that can be taken in a signal handler, where Ruby refuses to wait for one.
  #
  # @api private
  class Lock
    def initialize
      @mutex = Mutex.new
    end

    # @yield while no other thread is in such a block
    # @return [Object] what the block returns
    def synchronize
      entered = false
      @mutex.synchronize do
        entered = true
        yield
      end
    rescue ThreadError => error
      raise if entered || !error.message.include?("trap context")

      in_handler { yield } # rubocop:disable Style/ExplicitBlockArgument -- it would be made for each call
    end

    # Waits within such a block, while others may be in one; not for a signal handler.
    # @param condition [Condition]
    # @param seconds [Float, nil] at the most
    def wait(condition, seconds)
      condition.wait(@mutex, seconds)
    end

    private

    # A handler interrupts the main thread between two of its steps, and goes on without the lock when that thread has
    # it. Another thread gives it back.
    def in_handler
      locked = @mutex.try_lock
      until locked || @mutex.owned?
        Thread.pass
        locked = @mutex.try_lock
      end
      yield
    ensure
      @mutex.unlock if locked
    end
  end
end
