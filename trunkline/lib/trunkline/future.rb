# frozen_string_literal: true

require_relative "block_arity"
require_relative "cancelled"
require_relative "condition"
require_relative "future/groups"
require_relative "interrupts"
require_relative "of_main_ractor"
require_relative "redacted"

module Trunkline
  # The result of a call that runs in the background (see Client#async). Any thread or fiber may wait for it.
  class Future
    include OfMainRactor
    include Redacted
    extend Groups

    # @api private
    # @param pending [Scheduler::PendingRequest, nil] nil for a future made by #then, #rescue or Groups
    # @param pool_handle [PoolHandle, nil] pool handle of the client that made the call
    # @param combined [Boolean] whether the value is an Array of the values of several futures
    def initialize(pending = nil, pool_handle = nil, combined: false)
      @anchor = OfMainRactor::ANCHOR
      @pending = pending
      @pool_handle = pool_handle
      @combined = combined
      @lock = Mutex.new
      @settled = Condition.new
      @ready = false
      @callbacks = []
      @pid = Process.pid
    end

    # @api private
    # @return [PoolHandle, nil]
    attr_reader :pool_handle
    # @api private
    # @param value [Scheduler::FutureThread] the FutureThread that runs the request
    attr_writer :future_thread

    # Waits for the result of the call.
    #
    # @param timeout [Numeric, nil] maximum seconds to wait; nil: no limit. The request continues after a timeout
    # @return [Response, Error, nil] the response, or the error that a single call would have raised; nil after a
    #   timeout. In a forked child, a ForkedConnection if the result was not known before the fork
    # @raise [InvalidRequest] when timeout is not a number
    def value(timeout = nil)
      limit = timeout && (clock + seconds(timeout))
      @lock.synchronize do
        until @ready
          return forked_error unless @pid == Process.pid

          left = limit && (limit - clock)
          return if left && left <= 0

          @settled.wait(@lock, left)
        end
        @value
      end
    end

    # Like #value, but raises the result if it is an error.
    #
    # @param timeout [Numeric, nil] see #value
    # @return [Response, nil] nil after a timeout
    # @raise [Error] the result
    # @raise [InvalidRequest] when timeout is not a number
    def value!(timeout = nil)
      result = value(timeout)
      raise result if result.is_a?(Exception)

      result
    end

    # Waits until the call has ended, with a response or an error.
    #
    # @param timeout [Numeric, nil] maximum seconds to wait; nil: no limit. The request continues after a timeout
    # @return [self, nil] nil after a timeout
    # @raise [InvalidRequest] when timeout is not a number
    def wait(timeout = nil)
      value = value(timeout)
      ready? || value ? self : nil
    end

    # @return [Boolean] whether the result is known, so that #value returns at once
    def ready? = @ready

    # Cancels the call. Its result is then a Cancelled, and a request in flight is aborted by closing its connection.
    #
    # @return [Boolean] false when the result was known already
    def cancel
      Thread.handle_interrupt(Object => :never) do
        settled = settle { @pending ? Cancelled.of(@pending) : Cancelled.new("the future was cancelled", sent: :none) }
        @future_thread&.cancel(@pending) if settled
        settled
      end
    end

    # Calls a block with the Response. The block should be short: it runs in the thread that drives all futures, or in
    # the current thread when the result is known already.
    #
    # @yield [response] for a future of Future.all, the values as an Array or as separate parameters
    # @return [Future] of the block's value, or of that value's value if it is a Future. If this future has an error,
    #   the block is skipped and the new Future has the same error. An exception of the block is the error of the new
    #   Future, even one that ends the thread
    # @raise [InvalidRequest] without a block, or when the block does not take one argument
    def then(&block)
      raise InvalidRequest, "then: needs a block" unless block

      BlockArity.check(block, 1, "the response") { "then: the block" } unless @combined && !block.lambda?
      chained = Future.new
      on_ready { |value| value.is_a?(Exception) ? chained.settle(value) : chained.settle_with_block(value, block) }
      chained
    end

    # Calls a block with the error of the call, as #then does with the Response.
    #
    # @param classes [Array<Class>] error classes to handle; default StandardError
    # @yield [error]
    # @return [Future] of the block's value; a response, or an error of another class, skips the block
    # @raise [InvalidRequest] without a block, when the block does not take one argument, or for anything but classes
    def rescue(*classes, &block)
      raise InvalidRequest, "rescue: needs a block" unless block

      BlockArity.check(block, 1, "the error") { "rescue: the block" }
      wrong = classes.find { |one| !one.is_a?(Module) }
      raise InvalidRequest.of("rescue", wrong, "classes of errors, such as Trunkline::TimeoutError") if wrong

      classes = [StandardError] if classes.empty?
      chained = Future.new
      on_ready do |value|
        handled = value.is_a?(Exception) && classes.any? { |one| one === value } # rubocop:disable Style/CaseEquality -- as rescue
        handled ? chained.settle_with_block(value, block) : chained.settle(value)
      end
      chained
    end

    def inspect
      "#<#{self.class} #{@ready ? @value.class : "pending"}>"
    end

    # @api private Marks the request as about to be sent: a later Cancelled says that the server may have received it.
    # @param now [Float] monotonic seconds
    # @return [Boolean] false when the future has a result already: the request must not be sent
    def claim(now)
      @lock.synchronize do
        return false if @ready

        @pending.started = now
        true
      end
    end

    # @api private
    # @return [Boolean] whether this call has set the result
    def settle(value = nil)
      first = false
      @lock.synchronize do
        unless @ready
          @value = block_given? ? yield : value
          @ready = first = true
        end
      end
      first
    ensure
      notify if first
    end

    # @api private Calls the callback with the result, at once if it is known.
    def on_ready(&callback)
      waits = @lock.synchronize { @callbacks << callback unless @ready }
      callback.call(@value) unless waits
    end

    protected

    def settle_with_block(value, block)
      Interrupts.watch
      value = block.call(value)
      return value.on_ready { |inner| settle(inner) } if value.is_a?(Future)

      settle(value)
    rescue StandardError => error
      interrupted = Interrupts.ended_by?(error)
      Scheduler::FutureThread.leave if interrupted
      settle(error)
      raise if interrupted
    rescue Exception => error # rubocop:disable Lint/RescueException -- nobody is to wait for ever
      Scheduler::FutureThread.leave
      settle(error)
      raise
    ensure
      unless value.is_a?(Future) || @ready
        Scheduler::FutureThread.leave
        settle(Cancelled.new("the thread of the futures was ended by a block"))
      end
    end

    private

    # Wakes up waiting threads, and calls every callback, even when one of them ends the thread.
    def notify
      @settled.broadcast
      @callbacks.shift.call(@value) until @callbacks.empty?
    ensure
      notify unless @callbacks.empty?
    end

    def seconds(timeout)
      timeout = Timeouts.plain(timeout)
      unless timeout.is_a?(Numeric) && timeout.real? && timeout <= Float::INFINITY
        raise InvalidRequest.of("timeout", timeout, "a number of seconds")
      end

      return timeout if timeout < Timeouts::ENDLESS

      Timeouts::ENDLESS # for a very large Integer, Array#min warns on JRuby
    end

    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def forked_error
      ForkedConnection.new("the future belongs to the parent process, and was not ready when this one was forked",
                           request: @pending&.request)
    end
  end
end
