# frozen_string_literal: true

require_relative "dispatcher"
require_relative "requests"
require_relative "settings"

module Trunkline
  module Many
    # Drives the futures of a pool: one thread, which starts with the first of them and ends when there have been none
    # for a while. A forked child has boards of its own.
    class Switchboard
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
              @pid = Process.pid
              @boards.clear
            end
            @boards[pool] ||= new(pool, settings)
          end
        end
      end

      def initialize(pool, settings)
        @pool = pool
        @dispatcher = Dispatcher.new(pool, settings, nil)
        @inbox = Thread::Queue.new
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
          @orders[order] = true
          @inbox << [:add, order]
          @thread ||= start
          @bell.signal
        end
        @dispatcher.wake
        true
      end

      # The future is settled already.
      def cancel(order)
        @lock.synchronize do
          return unless @orders.key?(order)

          @inbox << [:cancel, order]
          @bell.signal
        end
        @dispatcher.wake
      end

      # Cancels what has not been sent yet, and waits for what is in flight.
      # @yield [order] whether it is meant
      def finish(&block)
        mine = @lock.synchronize { @orders.keys }.select(&block)
        mine.each { |order| order.taker.cancel if order.started.nil? }
        mine.each { |order| order.taker.value } unless Thread.current.equal?(@thread)
      end

      private

      def start
        Thread.new { run }.tap { |thread| thread.name = "trunkline futures" }
      end

      def run
        work until leave?
      ensure
        abandon
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

      def receive
        what, order = @inbox.pop
        return unless @orders.key?(order)

        if what == :cancel || order.taker.ready?
          @dispatcher.cancel(order)
          @orders.delete(order)
        else
          @dispatcher.add(order)
        end
      end

      def over(order, result)
        @orders.delete(order)
        order.taker.settle(result)
      end

      def leave?
        @quiet && @lock.synchronize { @left = @orders.empty? }
      end

      # However the thread ends: nobody waits for ever.
      def abandon
        orders = @lock.synchronize do
          @left = true
          @orders.keys
        end
        Switchboard.drop(@pool, self)
        @dispatcher.close
        orders.each { |order| order.taker.settle { Cancelled.of(order, "was given up") } }
      end
    end
  end
end
