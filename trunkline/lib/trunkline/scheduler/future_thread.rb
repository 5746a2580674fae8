# frozen_string_literal: true

require_relative "../cancelled"
require_relative "../interrupts"
require_relative "../lock"
require_relative "../redacted"
require_relative "../scheduler"
require_relative "batch_options"

module Trunkline
  class Scheduler
    # The thread that runs the futures of a pool. It starts with the first future, and ends when there have been none
    # for LINGER seconds. A forked child starts its own thread.
    #
    # An interrupt (Thread#raise, Thread#kill, Ctrl-C) may end any method between any two steps, so each change of state
    # is a single step: a request belongs to the FutureThread once it is in the inbox, and a thread runs the requests
    # once it has found that no other thread does.
    class FutureThread
      include Redacted

      # Seconds that the thread waits for more futures.
      LINGER = 0.3

      LOCK = Lock.new
      RUNS = :trunkline_future_thread
      private_constant :LOCK, :RUNS

      @threads = {}.compare_by_identity
      @pid = Process.pid

      class << self
        # @param pool [Engine::Pool]
        # @param pending [PendingRequest] a request whose callback is its Future
        # @param options [BatchOptions] for a new FutureThread
        def submit(pool, pending, options)
          loop { break if of(pool, options).submit(pending) }
        end

        # Finishes the futures of a pool handle, which is about to close its connections: cancels those that have not
        # been sent, and waits for those in flight.
        # @param pool_handle [PoolHandle]
        def finish(pool_handle)
          LOCK.synchronize { @threads[pool_handle.pool] if @pid == Process.pid }&.finish(pool_handle)
        end

        # Called when the current thread is about to end, if it runs futures: a caller that is woken by the error of its
        # future and at once makes another call must get another thread.
        def leave = Thread.current.thread_variable_get(RUNS)&.leave

        # @param ended [FutureThread] a FutureThread that accepts no more futures
        def remove(pool, ended)
          LOCK.synchronize { @threads.delete(pool) if @threads[pool].equal?(ended) }
        end

        private

        def of(pool, options)
          LOCK.synchronize do
            if @pid != Process.pid
              @threads.clear
              @pid = Process.pid # last: if interrupted before, the child would use the parent's threads
            end
            @threads[pool] ||= new(pool, options)
          end
        end
      end

      # @param pool [Engine::Pool]
      # @param options [BatchOptions]
      def initialize(pool, options)
        @pool = pool
        @scheduler = Scheduler.new(pool, options) { |pending, now| may_start?(pending, now) }
        # Requests that are new, or whose futures were cancelled.
        @inbox = []
        # Requests that were added to the Scheduler.
        @accepted = {}.compare_by_identity
        @lock = Mutex.new
        @wakeup = ConditionVariable.new
        @ended = false
      end

      # @return [Boolean] false when the thread has ended: another FutureThread must take the request
      def submit(pending) # rubocop:disable Naming/PredicateMethod -- it submits
        @lock.synchronize do
          return false if @ended

          pending.callback.future_thread = self
          @thread = start unless @thread&.alive?
          @inbox << pending
          @wakeup.signal
        end
        @scheduler.wake
        true
      end

      # Drops a request whose future has been settled by Future#cancel.
      def cancel(pending)
        @lock.synchronize do
          @inbox << pending
          @wakeup.signal
        end
        @scheduler.wake
      end

      # (see FutureThread.finish)
      def finish(pool_handle)
        requests = @lock.synchronize { unfinished }
        requests.select! { |pending| pending.callback.pool_handle.equal?(pool_handle) }
        requests.each { |pending| pending.callback.cancel if pending.started.nil? }
        requests.each { |pending| pending.callback.value } unless Thread.current.equal?(@running)
      end

      # Accepts no more futures.
      def leave
        @lock.synchronize { @ended = true }
        FutureThread.remove(@pool, self)
      end

      private

      def unfinished = @accepted.keys | @inbox

      # A thread inherits the deferred interrupts of the thread that starts it (Thread.handle_interrupt), but this one
      # must stay interruptible.
      def start
        Thread.new { Thread.handle_interrupt(Object => :immediate) { run } }
      end

      def run
        return unless first_to_run?

        Thread.current.name = "trunkline futures"
        Thread.current.thread_variable_set(RUNS, self)
        Interrupts.watch
        work until ended?
      rescue NoMemoryError => error
        raise
      ensure
        abandon(error) if @running.equal?(Thread.current)
      end

      # @return [Boolean] false when another thread runs already: the thread that started it was interrupted before it
      #   set @thread
      def first_to_run?
        @lock.synchronize { @running = Thread.current unless @running&.alive? }
      end

      def work
        receive until @inbox.empty?
        if @scheduler.idle?
          @lock.synchronize { @wakeup.wait(@lock, LINGER) if @inbox.empty? }
          @quiet = @inbox.empty?
        else
          @quiet = false
          @scheduler.run_once { |pending, result| complete(pending, result) }
        end
      end

      # A request stays in the inbox until it has been accepted. Other threads add to the inbox, and read the inbox and
      # @accepted.
      def receive
        pending = @lock.synchronize { @inbox.first }
        if pending.callback.ready?
          @scheduler.cancel(pending) if forget(pending)
        elsif !@accepted.key?(pending)
          @lock.synchronize { @accepted[pending] = true }
          @scheduler.add(pending)
        end
        @lock.synchronize { @inbox.shift }
      end

      # @return [Boolean, nil] nil: the request had not been accepted
      def forget(pending) = @lock.synchronize { @accepted.delete(pending) }

      # The Scheduler drops a request whose future was settled meanwhile, even if an interrupt prevented #cancel.
      def may_start?(pending, now)
        claimed = pending.callback.claim(now)
        forget(pending) unless claimed
        claimed
      end

      # A request stays accepted until its future is settled.
      def complete(pending, result)
        pending.callback.settle(result)
        forget(pending)
      end

      def ended?
        @quiet && @lock.synchronize { @ended = @accepted.empty? && @inbox.empty? }
      end

      # However the thread ends, no caller may wait forever.
      #
      # @param error [NoMemoryError, nil] the error that ended the thread; the requests are settled with it
      def abandon(error)
        leave
        left = @lock.synchronize { unfinished }
        @scheduler.close
        left.each { |pending| pending.callback.settle { error || Cancelled.of(pending, "was given up") } }
      end
    end
  end
end
