# frozen_string_literal: true

require_relative "../interrupts"
require_relative "../redacted"
require_relative "dispatcher"
require_relative "requests"
require_relative "settings"

module Trunkline
  module Many
    # Drives the futures of a pool: one thread, which starts with the first of them and ends when there have been none
    # for a while. A forked child has boards of its own.
    #
    # An interrupt (Thread#raise, Thread#kill, Ctrl-C) may end a call of any method between any two steps. So each
    # change is one step: an order is handed over by being put into the inbox, and a thread drives when it has found
    # that no other does.
    class Switchboard
      include Redacted

      # Seconds that the thread stays without anything to do.
      LINGER = 0.3

      LOCK = Mutex.new
      private_constant :LOCK

      @boards = {}.compare_by_identity
      @pid = Process.pid

      class << self
        # @param order [Order] whose taker is its Future
        # @param settings [Settings] of the client, for the board's first
        def submit(pool, order, settings)
          loop { break if of(pool, settings).submit(order) }
        end

        # @return [Switchboard, nil] the one there is
        def existing(pool)
          LOCK.synchronize { @boards[pool] if @pid == Process.pid }
        end

        # @api private
        def drop(pool, board)
          LOCK.synchronize { @boards.delete(pool) if @boards[pool].equal?(board) }
        end

        private

        def of(pool, settings)
          LOCK.synchronize do
            if @pid != Process.pid
              @boards.clear
              @pid = Process.pid # last: interrupted before, it would be the child's with the parent's boards
            end
            @boards[pool] ||= new(pool, settings)
          end
        end
      end

      def initialize(pool, settings)
        @pool = pool
        @dispatcher = Dispatcher.new(pool, settings, nil)
        # Orders that are new, or whose futures were given up.
        @inbox = []
        # Those that the dispatcher has.
        @orders = {}.compare_by_identity
        @lock = Mutex.new
        @bell = ConditionVariable.new
        @left = false
      end

      # @return [Boolean] false when the thread has left: the order is for another board
      def submit(order) # rubocop:disable Naming/PredicateMethod -- it asks nothing
        @lock.synchronize do
          return false if @left

          order.taker.board = self
          @thread = start unless @thread&.alive?
          @inbox << order
          @bell.signal
        end
        @dispatcher.wake
        true
      end

      # The future is settled already.
      def cancel(order)
        @lock.synchronize do
          @inbox << order
          @bell.signal
        end
        @dispatcher.wake
      end

      # Cancels what has not been sent yet, and waits for what is in flight.
      # @yield [order] whether it is meant
      def finish(&block)
        mine = @lock.synchronize { all_orders }.select(&block)
        mine.each { |order| order.taker.cancel if order.started.nil? }
        mine.each { |order| order.taker.value } unless Thread.current.equal?(@driver)
      end

      private

      def all_orders
        @orders.keys | @inbox
      end

      # A thread inherits what its starter has deferred: it has to be ended all the same.
      def start
        Thread.new { Thread.handle_interrupt(Object => :immediate) { run } }
      end

      def run
        return unless take_over?

        Thread.current.name = "trunkline futures"
        Interrupts.watch
        work until leave?
      ensure
        abandon if @driver.equal?(Thread.current)
      end

      # @return [Boolean] false when there is one that drives: whoever started it was interrupted before it was noted
      def take_over?
        @lock.synchronize { @driver = Thread.current unless @driver&.alive? }
      end

      def work
        receive until @inbox.empty?
        if @dispatcher.idle?
          @lock.synchronize { @bell.wait(@lock, LINGER) if @inbox.empty? }
          @quiet = @inbox.empty?
        else
          @quiet = false
          @dispatcher.turn { |order, result| over(order, result) }
        end
      end

      # It stays in the inbox until it is known.
      def receive
        order = @inbox.first
        if order.taker.ready?
          @dispatcher.cancel(order) if @orders.delete(order)
        elsif !@orders.key?(order)
          @orders[order] = true
          @dispatcher.add(order)
        end
        @inbox.shift
      end

      # It is known until it is told.
      def over(order, result)
        order.taker.settle(result)
        @orders.delete(order)
      end

      def leave?
        @quiet && @lock.synchronize { @left = @orders.empty? && @inbox.empty? }
      end

      # However the thread ends: nobody waits for ever.
      def abandon
        orders = @lock.synchronize do
          @left = true
          all_orders
        end
        Switchboard.drop(@pool, self)
        @dispatcher.close
        orders.each { |order| order.taker.settle { Cancelled.of(order, "was given up") } }
      end
    end
  end
end
