# frozen_string_literal: true

require_relative "block_arity"
require_relative "cancelled"
require_relative "condition"
require_relative "future/groups"
require_relative "interrupts"
require_relative "redacted"

module Trunkline
  # The result of a call that runs in the background (see Client#async). Any thread or fiber may wait for it.
  class Future
    include Redacted
    extend Groups

    # @api private
    # @param pending [Scheduler::PendingRequest, nil] nil for a future of #then
    # @param family [Family, nil] of the client that it was asked of
    # @param several [Boolean] whether its value is an Array of values
    def initialize(pending = nil, family = nil, several: false)
      @pending = pending
      @family = family
      @several = several
      @lock = Mutex.new
      @settled = Condition.new
      @ready = false
      @callbacks = []
      @pid = Process.pid
    end

    # @api private
    # @return [Family, nil]
    attr_reader :family
    # @api private
    # @param value [Scheduler::FutureThread] that runs the request
    attr_writer :future_thread

    # Waits for the result.
    #
    # @param timeout [Numeric, nil] seconds to wait at the most; the request goes on
    # @return [Response, Error, nil] the answer, or the error that a single call would have raised; nil when the time
    #   was over first
    # @raise [InvalidRequest] when timeout is no number
    def value(timeout = nil)
      limit = timeout && (clock + seconds(timeout))
      @lock.synchronize do
        until @ready
          return lost unless @pid == Process.pid

          left = limit && (limit - clock)
          return if left && left <= 0

          @settled.wait(@lock, left)
        end
        @value
      end
    end

    # As #value, but raises what the request came to when that is an error.
    #
    # @return [Response, nil]
    # @raise [Error]
    def value!(timeout = nil)
      result = value(timeout)
      raise result if result.is_a?(Exception)

      result
    end

    # Waits until the call has ended, however it ended.
    #
    # @param timeout [Numeric, nil] seconds to wait at the most; the request goes on
    # @return [self, nil] nil when the time was over first
    # @raise [InvalidRequest] when timeout is no number
    def wait(timeout = nil)
      value = value(timeout)
      ready? || value ? self : nil
    end

    # @return [Boolean] whether #value would not wait
    def ready? = @ready

    # Cancels the call: the value is a Cancelled then, and the connection is closed if the request was in flight.
    #
    # @return [Boolean] false when it was ready already
    def cancel
      Thread.handle_interrupt(Object => :never) do
        settled = settle { @pending ? Cancelled.of(@pending) : Cancelled.new("the future was cancelled", sent: :none) }
        @future_thread&.cancel(@pending) if settled
        settled
      end
    end

    # Goes on with the Response. The block runs in the thread that drives all futures (at once, when this one is
    # ready): it should be short.
    #
    # @yield [response] of Future.all the values, as an Array or as so many parameters
    # @return [Future] of the block's value; a Future from the block stands for its own value. An error skips the
    #   block; what the block raises is the new Future's error, also when it ends the thread by that
    # @raise [InvalidRequest] without a block
    def then(&block)
      raise InvalidRequest, "then: needs a block" unless block

      BlockArity.check(block, 1, "the response") { "then: the block" } unless @several && !block.lambda?
      following = Future.new
      on_ready { |value| value.is_a?(Exception) ? following.settle(value) : following.follow(value, block) }
      following
    end

    # Goes on after an error, as #then does after a Response.
    #
    # @param classes [Array<Class>] of the errors that are meant; StandardError unless given
    # @yield [error]
    # @return [Future] of the block's value; any other value, or error, skips the block
    # @raise [InvalidRequest] without a block
    def rescue(*classes, &block)
      raise InvalidRequest, "rescue: needs a block" unless block

      BlockArity.check(block, 1, "the error") { "rescue: the block" }
      wrong = classes.find { |one| !one.is_a?(Module) }
      raise InvalidRequest.of("rescue", wrong, "classes of errors, such as Trunkline::TimeoutError") if wrong

      classes = [StandardError] if classes.empty?
      following = Future.new
      on_ready do |value|
        meant = value.is_a?(Exception) && classes.any? { |one| one === value } # rubocop:disable Style/CaseEquality -- as rescue
        meant ? following.follow(value, block) : following.settle(value)
      end
      following
    end

    def inspect
      "#<#{self.class} #{@ready ? @value.class : "pending"}>"
    end

    # @api private Marks the request as about to be sent: a Cancelled then says that the server may have it.
    # @param now [Float] monotonic seconds
    # @return [Boolean] false when it was given up before: nothing is to be sent
    def claim(now)
      @lock.synchronize do
        return false if @ready

        @pending.started = now
        true
      end
    end

    # @api private
    # @return [Boolean] whether it was not settled before
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
      tell if first
    end

    # @api private Calls it with the value, at once when there is one.
    def on_ready(&callback)
      waits = @lock.synchronize { @callbacks << callback unless @ready }
      callback.call(@value) unless waits
    end

    protected

    def follow(value, block)
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

    # Wakes those who wait, and calls every callback, also when one of them ends the thread.
    def tell
      @settled.broadcast
      @callbacks.shift.call(@value) until @callbacks.empty?
    ensure
      tell unless @callbacks.empty?
    end

    def seconds(timeout)
      timeout = Timeouts.plain(timeout)
      unless timeout.is_a?(Numeric) && timeout.real? && timeout <= Float::INFINITY
        raise InvalidRequest.of("timeout", timeout, "a number of seconds")
      end

      return timeout if timeout < Timeouts::ENDLESS

      Timeouts::ENDLESS # Array#min warns of a great Integer on JRuby
    end

    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def lost
      ForkedConnection.new("the future belongs to the parent process, and was not ready when this one was forked",
                           request: @pending&.request)
    end
  end
end
