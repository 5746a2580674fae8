# frozen_string_literal: true

require_relative "response_state"
require_relative "watch"
require_relative "watch_on_jruby" if RUBY_ENGINE == "jruby"
require_relative "../../of_main_ractor"
require_relative "../../redacted"

module Trunkline
  module Engine
    # Many exchanges, driven by the thread that calls #run; see engine.rb. While a thread is in #run, no other thread
    # may change the Multi. The running thread may change it at any time: in the program's code that an exchange calls,
    # or in another fiber. So an entry that is being served is only marked when it is cancelled.
    class Multi
      include OfMainRactor
      include Redacted

      # One call.
      class Entry
        include Redacted

        attr_reader :id, :exchange, :state, :response, :tag
        # Whether it was cancelled while it was served; whether its Response was added to the results; when to step it
        # even without an event; the socket and events that it waits for; whether it is in @runnable.
        attr_accessor :cancelled, :delivered, :due, :socket, :events, :runnable

        def initialize(id, state, response, tag)
          @id = id
          @state = state
          @exchange = state.exchange
          @response = response
          @tag = tag
          @due = 0.0
        end
      end

      # The exchanges in progress, for the finalizer of the Multi.
      class Hold
        include Redacted

        def initialize
          @exchanges = {}.compare_by_identity
        end

        def add(exchange) = @exchanges[exchange] = true
        def remove(exchange) = @exchanges.delete(exchange)
        def drop = @exchanges.each_key(&:drop)
        def abort = @exchanges.each_key(&:abort)
      end

      # WatchOnJRuby uses a java.nio selector.
      WATCH = RUBY_ENGINE == "jruby" ? Ruby::WatchOnJRuby : Ruby::Watch
      NONE = [].freeze
      private_constant :Entry, :Hold, :WATCH, :NONE

      # @param pool [Pool]
      def initialize(pool)
        Ruby::Checks.instance(pool, Pool)
        pool.check
        @anchor = OfMainRactor::ANCHOR
        @pool = pool
        @watch = WATCH.new
        @waker = @watch.waker
        @pid = Ruby.pid
        @entries = {}
        @hold = Hold.new
        Ruby::Dropped.watch_multi(self, @hold)
        @runnable = []
        @has_results = false # whether this #run has added to the results
        @checked_entries = {}.compare_by_identity # entries that wait for no socket, for several, or also for the waker
        @next_due = Ruby::NEVER
        @last_id = 0
        @stopped = false
        @polled_at = 0.0 # when the sockets were last polled
        @requeued = false # whether an entry in @runnable used its turn without a wait
        @shares = false # whether one of its exchanges has used a shared connection
      end

      # @param tag [Object] identifies the exchange in results
      # @return [Integer] the id for #cancel
      def add(request, deadline, tag)
        check_thread
        Ruby::Dropped.clean
        Ruby::Checks.exchange(@pool, request, deadline)
        Ruby.need_key(request)
        state = Ruby::ResponseState.new(Ruby::Exchange.new(@pool, request, deadline, @waker))
        entry = Entry.new(@last_id += 1, state, Response._of(request, state), tag)
        state.busy = true
        @entries[entry.id] = entry
        @hold.add(entry.exchange)
        make_runnable(entry)
        @waker.wake if @driver # another fiber may be waiting in run
        entry.id
      end

      # @param timeout [Numeric, nil] seconds
      # @param results [Array] tag, result and status are appended as calls end, so that an interrupt loses none
      # @return [nil]
      def run(timeout, results)
        check_open
        raise ThreadError, "the multi is being run already" if @driver

        Ruby::Checks.seconds(timeout)
        check_results(results)
        begin
          @driver = Thread.current
          @results = results
          @has_results = false
          @waker.driven = true
          run_until_results(timeout ? Ruby.now + timeout : Ruby::NEVER)
        ensure
          @driver = @results = nil
          @waker.driven = false
          depart
        end
      end

      # @return [Boolean] false: the exchange has ended
      def cancel(id)
        check_thread
        entry = @entries[Ruby::Checks.integer(id)]
        return false if entry.nil? || entry.cancelled

        drop(entry)
        true
      end

      # @return [Integer] number of exchanges in progress
      def size
        check_open
        @entries.size
      end

      # May be called from any thread.
      def wake
        @stopped = true
        @waker&.wake
        nil
      end

      # @return [Array] tags of the exchanges whose result #run has not returned
      def close
        return [] if @closed || @waker.nil?

        check_thread
        left = @entries.each_value.reject(&:cancelled)
        left.each { |entry| drop(entry) }
        @driver ? wake : shut
        left.map(&:tag)
      end

      private

      def shut
        @closed = true
        Ruby::Dropped.unwatch_multi(self)
        @waker.close
      end

      def check_open
        raise ArgumentError, "the multi is closed, or was not initialized" if @closed || @waker.nil?
      end

      def check_thread
        check_open
        raise ThreadError, "the multi is run by another thread" if @driver && !@driver.equal?(Thread.current)
      end

      def check_results(results)
        Ruby::Checks.instance(results, Array)
        raise FrozenError.new("can't modify frozen Array", receiver: results) if results.frozen?
      end

      # ---- run ----

      def run_until_results(until_then)
        until @entries.empty? || @has_results || @stopped
          wait_or_poll(until_then)
          runnable = @runnable
          @runnable = []
          serve_all(runnable)
          break if Ruby.now >= until_then
        end
        @stopped = false
        nil
      end

      # An exchange that never has to wait, because its server reads or sends fast enough, must not delay the others.
      def wait_or_poll(until_then)
        return wait(until_then) if @runnable.empty?
        return unless @requeued && Ruby.now >= @polled_at + Ruby::Driving::FIBER_YIELD_INTERVAL

        @requeued = false
        Ruby::Driving.run_other_fibers
        wait(0)
      end

      # While the Multi is not run, other calls lead on its shared connections, and do not wait for those that it opens.
      def depart
        return unless @pid == Ruby.pid

        Ruby.uninterruptible do
          @pool.driver_left
          @entries.each_value { |entry| entry.exchange.depart } if @shares
        end
      end

      # Entries left over after an exception are served by the next run.
      def serve_all(runnable)
        while (entry = runnable.shift)
          entry.runnable = false
          serve(entry) if @entries.key?(entry.id)
        end
      ensure
        @runnable.concat(runnable)
      end

      # A StandardError of the program's code is the result of that call alone.
      def serve(entry)
        @served = entry
        completed = false
        step(entry)
        completed = true
      rescue StandardError => error
        raise if Interrupts.ended_by?(error)

        finish_entry(entry, error)
        completed = true
      ensure
        @served = nil
        end_serving(entry, completed)
      end

      # After an exit, a throw, a kill or an interrupt the exchange is aborted, and the next run returns its failure.
      def end_serving(entry, completed)
        return unless @entries.key?(entry.id)

        @shares ||= entry.exchange.shared?
        return remove(entry) if entry.cancelled
        return if completed || entry.exchange.ended?

        Ruby.uninterruptible { entry.exchange.abort }
        make_runnable(entry)
      end

      # Steps until the exchange must wait, has a result, or its turn is over. Written without Kernel#loop, because a
      # return from a block is slow on JRuby.
      def step(entry)
        exchange = entry.exchange
        turn_over = nil
        until (due = due_of_wait(exchange, result = Ruby.uninterruptible { exchange.step }))
          return report(entry, result) unless Ruby::Driving.handle_step(exchange, result)

          now = Ruby.now
          turn_over ||= now + Ruby::Driving::FIBER_YIELD_INTERVAL
          return requeue(entry) if now >= turn_over
        end
        watch(entry, due)
      end

      # @return [Float, nil] when to step even without an event; nil: the exchange need not wait
      def due_of_wait(exchange, result)
        return if result != :wait || exchange.progress_due?

        due = exchange.due
        due if due.positive?
      end

      def requeue(entry)
        @requeued = true
        make_runnable(entry)
      end

      def report(entry, result)
        exchange = entry.exchange
        add_stream_results(entry) if exchange.streaming?
        case result
        when :failed then finish_entry(entry, exchange.error)
        when :done
          return requeue(entry) if exchange.data?

          entry.state.conclude
          exchange.streaming? ? finish_entry(entry, nil) : finish_entry(entry, entry.response, entry.response.status)
        else requeue(entry)
        end
      end

      # Adds the Response when its head has arrived, and a piece of the body; both may come in one step, and before a
      # failure.
      def add_stream_results(entry)
        exchange = entry.exchange
        if !entry.delivered && exchange.head
          entry.delivered = true
          add_result(entry, entry.response)
        end
        add_result(entry, exchange.take_body) if exchange.data?
      end

      def finish_entry(entry, result, status = nil)
        add_result(entry, result, status) unless entry.cancelled
        remove(entry)
      end

      def add_result(entry, result, status = nil)
        @results.push(entry.tag, result, status)
        @has_results = true
      end

      # Removes an entry without a result.
      def drop(entry)
        @served.equal?(entry) ? entry.cancelled = true : remove(entry)
      end

      def remove(entry)
        @entries.delete(entry.id)
        @hold.remove(entry.exchange)
        unwatch(entry)
        entry.state.finish
        entry.state.busy = false
      end

      # ---- waiting ----

      # Records what the exchange waits for.
      def watch(entry, due)
        exchange = entry.exchange
        entry.due = due
        @next_due = due if due < @next_due
        socket = exchange.sockets
        single = socket.is_a?(IO)
        return if single && socket.equal?(entry.socket) && exchange.events == entry.events

        unwatch(entry)
        @checked_entries[entry] = true if !single || exchange.shared?
        watch_socket(entry, socket, exchange.events) if single
      end

      def watch_socket(entry, socket, events)
        entry.socket = socket
        entry.events = events
        @watch.add(entry, socket, events)
      end

      def unwatch(entry)
        @checked_entries.delete(entry)
        return unless entry.socket

        @watch.remove(entry, entry.socket)
        entry.socket = nil
      end

      def wait(until_then)
        return fail_all_after_fork unless @pid == Ruby.pid

        due = until_then
        due = @next_due if @next_due < due # faster than Array#min on JRuby
        timeout = due - Ruby.now
        timeout = 0 if timeout.negative?
        timeout = nil if timeout > Ruby::LONG
        others = @checked_entries.empty? ? NONE : @checked_entries.each_key.flat_map { |entry| sockets_of(entry) }
        others = @watch.wait(others, timeout) { |entry| make_runnable(entry) }
        @checked_entries.each_key { |entry| make_runnable(entry) if woken?(entry, others) }
        take_due
      end

      # Makes each call fail at its next step in a forked child, where the sockets are closed.
      def fail_all_after_fork
        @pid = Ruby.pid
        @entries.each_value do |entry|
          unwatch(entry)
          make_runnable(entry)
        end
      end

      def woken?(entry, others)
        entry.exchange.needs_step? || (!others.empty? && sockets_of(entry).intersect?(others))
      end

      # Returns the sockets of an entry that waits for several.
      def sockets_of(entry)
        sockets = entry.exchange.sockets unless entry.socket
        sockets.is_a?(Array) ? sockets : []
      end

      def make_runnable(entry)
        return if entry.runnable

        entry.runnable = true
        @runnable << entry
      end

      def take_due
        @polled_at = now = Ruby.now
        return if now < @next_due

        next_due = Ruby::NEVER
        @entries.each_value do |entry|
          next if entry.runnable

          if entry.due <= now then make_runnable(entry)
          elsif entry.due < next_due then next_due = entry.due
          end
        end
        @next_due = next_due
      end
    end
  end
end
