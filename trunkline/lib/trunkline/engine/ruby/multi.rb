# frozen_string_literal: true

require_relative "answer"
require_relative "watch"
require_relative "watch_on_jruby" if RUBY_ENGINE == "jruby"
require_relative "../../redacted"

module Trunkline
  module Engine
    # Many exchanges, driven by the thread that calls #run; see engine.rb. While a thread is in #run, no other thread
    # may change the Multi. The running thread may change it at any time: in the program's code that an exchange calls,
    # or in another fiber. So an entry that is being served is only marked when it is cancelled.
    class Multi
      include Redacted

      # One call.
      class Entry
        include Redacted

        attr_reader :id, :exchange, :answer, :response, :tag
        # Whether it was cancelled while it was served; whether its Response was added to the results; when to step it
        # even without an event; the socket and events that it waits for; whether it is in @ready.
        attr_accessor :cancelled, :told, :due, :socket, :events, :ready

        def initialize(id, answer, response, tag)
          @id = id
          @answer = answer
          @exchange = answer.exchange
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
        raise TypeError, "wrong argument type #{pool.class} (expected Engine::Pool)" unless pool.is_a?(Pool)

        @pool = pool
        @watch = WATCH.new
        @bell = @watch.bell
        @pid = Ruby.pid
        @entries = {}
        @hold = Hold.new
        Ruby::Dropped.watch_multi(self, @hold)
        @ready = []
        @told = false # whether this #run has added to the results
        @parked = {}.compare_by_identity # entries that wait for no socket, for several, or also for the bell
        @next_due = Ruby::NEVER
        @last_id = 0
        @stopped = false
        @looked_at = 0.0 # when the sockets were last polled
        @runs_on = false # whether an entry in @ready used its turn without a wait
        @shares = false # whether one of its exchanges has used a shared connection
      end

      # @param tag [Object] identifies the exchange in results
      # @return [Integer] the id for #cancel
      def add(request, deadline, tag)
        check_here
        Ruby::Dropped.clean
        answer = Ruby::Answer.new(Ruby::Exchange.new(@pool, request, deadline, @bell))
        entry = Entry.new(@last_id += 1, answer, Response._of(request, answer), tag)
        answer.busy = true
        @entries[entry.id] = entry
        @hold.add(entry.exchange)
        ready(entry)
        @bell.wake if @driver # another fiber may be waiting in run
        entry.id
      end

      # @param timeout [Numeric, nil] seconds
      # @param results [Array] tag, result and status are appended as calls end, so that an interrupt loses none
      # @return [nil]
      def run(timeout, results)
        check_open
        raise ThreadError, "the multi is being run already" if @driver

        check_results(results)
        begin
          @driver = Thread.current
          @results = results
          @told = false
          @bell.driven = true
          run_until_results(timeout ? Ruby.now + timeout : Ruby::NEVER)
        ensure
          @driver = @results = nil
          @bell.driven = false
          depart
        end
      end

      # @return [Boolean] false: the exchange has ended
      def cancel(id)
        check_here
        raise TypeError, "no implicit conversion of #{id.class} into Integer" unless id.is_a?(Integer)

        entry = @entries[id]
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
        @bell.wake
        nil
      end

      # @return [Array] tags of the exchanges whose result #run has not returned
      def close
        return [] if @closed

        check_here
        left = @entries.each_value.reject(&:cancelled)
        left.each { |entry| drop(entry) }
        @driver ? wake : shut
        left.map(&:tag)
      end

      private

      def shut
        @closed = true
        Ruby::Dropped.unwatch_multi(self)
        @bell.close
      end

      def check_open
        raise ArgumentError, "the multi is closed, or was not initialized" if @closed || @bell.nil?
      end

      def check_here
        check_open
        raise ThreadError, "the multi is run by another thread" if @driver && !@driver.equal?(Thread.current)
      end

      def check_results(results)
        raise TypeError, "wrong argument type #{results.class} (expected Array)" unless results.is_a?(Array)
        raise FrozenError.new("can't modify frozen Array", receiver: results) if results.frozen?
      end

      # ---- run ----

      def run_until_results(until_then)
        until @entries.empty? || @told || @stopped
          wait_or_look(until_then)
          ready = @ready
          @ready = []
          serve_all(ready)
          break if Ruby.now >= until_then
        end
        @stopped = false
        nil
      end

      # An exchange that never has to wait, because its server reads or sends fast enough, must not delay the others.
      def wait_or_look(until_then)
        return wait(until_then) if @ready.empty?
        return unless @runs_on && Ruby.now >= @looked_at + Ruby::Driving::TURN

        @runs_on = false
        Ruby::Driving.let_others_run
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
      def serve_all(ready)
        while (entry = ready.shift)
          entry.ready = false
          serve(entry) if @entries.key?(entry.id)
        end
      ensure
        @ready.concat(ready)
      end

      def serve(entry)
        @served = entry
        over = false
        step_or_give_error(entry)
        over = true
      ensure
        @served = nil
        clear_up(entry, over)
      end

      # A StandardError of the program's code is the result of that call alone.
      def step_or_give_error(entry)
        step(entry)
      rescue StandardError => error
        raise if Interrupts.ended_by?(error)

        give(entry, error)
      end

      # After an exit, a throw, a kill or an interrupt the exchange is aborted, and the next run returns its failure.
      def clear_up(entry, well)
        return unless @entries.key?(entry.id)

        @shares ||= entry.exchange.shared?
        return remove(entry) if entry.cancelled
        return if well || entry.exchange.over?

        Ruby.uninterruptible { entry.exchange.abort }
        ready(entry)
      end

      # Steps until the exchange must wait, has a result, or its turn is over.
      def step(entry)
        exchange = entry.exchange
        turn_over = Ruby.now + Ruby::Driving::TURN
        loop do
          result = Ruby.uninterruptible { exchange.step }
          return park(entry) if result == :wait && !exchange.progress_due? && exchange.due.positive?
          return tell(entry, result) unless Ruby::Driving.serve(exchange, result)
          return run_on(entry) if Ruby.now >= turn_over
        end
      end

      def run_on(entry)
        @runs_on = true
        ready(entry)
      end

      def tell(entry, result)
        exchange = entry.exchange
        tell_news(entry) if exchange.streaming?
        case result
        when :failed then give(entry, exchange.error)
        when :done
          return run_on(entry) if exchange.data?

          entry.answer.conclude
          exchange.streaming? ? give(entry, nil) : give(entry, entry.response, entry.response.status)
        else run_on(entry)
        end
      end

      # Adds the Response when its head has arrived, and a piece of the body; both may come in one step, and before a
      # failure.
      def tell_news(entry)
        exchange = entry.exchange
        if !entry.told && exchange.head
          entry.told = true
          add_result(entry, entry.response)
        end
        add_result(entry, exchange.take_body) if exchange.data?
      end

      def give(entry, result, status = nil)
        add_result(entry, result, status) unless entry.cancelled
        remove(entry)
      end

      def add_result(entry, result, status = nil)
        @results.push(entry.tag, result, status)
        @told = true
      end

      # Removes an entry without a result.
      def drop(entry)
        @served.equal?(entry) ? entry.cancelled = true : remove(entry)
      end

      def remove(entry)
        @entries.delete(entry.id)
        @hold.remove(entry.exchange)
        unpark(entry)
        entry.answer.finish
        entry.answer.busy = false
      end

      # ---- waiting ----

      # Records what the exchange waits for.
      def park(entry)
        exchange = entry.exchange
        entry.due = exchange.due
        @next_due = entry.due if entry.due < @next_due
        socket = exchange.sockets
        one = socket.is_a?(IO)
        return if one && socket.equal?(entry.socket) && exchange.events == entry.events

        unpark(entry)
        @parked[entry] = true if !one || exchange.shared?
        watch(entry, socket, exchange.events) if one
      end

      def watch(entry, socket, events)
        entry.socket = socket
        entry.events = events
        @watch.add(entry, socket, events)
      end

      def unpark(entry)
        @parked.delete(entry)
        return unless entry.socket

        @watch.remove(entry, entry.socket)
        entry.socket = nil
      end

      def wait(until_then)
        return end_those_of_the_parent unless @pid == Ruby.pid

        due = [@next_due, until_then].min
        timeout = [due - Ruby.now, 0].max
        timeout = nil if timeout > Ruby::LONG
        others = @parked.empty? ? NONE : @parked.each_key.flat_map { |entry| sockets_of(entry) }
        others = @watch.wait(others, timeout) { |entry| ready(entry) }
        @parked.each_key { |entry| ready(entry) if called?(entry, others) }
        take_due
      end

      # Makes each call fail at its next step in a forked child, where the sockets are closed.
      def end_those_of_the_parent
        @pid = Ruby.pid
        @entries.each_value do |entry|
          unpark(entry)
          ready(entry)
        end
      end

      def called?(entry, written)
        entry.exchange.called? || (!written.empty? && sockets_of(entry).intersect?(written))
      end

      # Returns the sockets of an entry that waits for several.
      def sockets_of(entry)
        sockets = entry.exchange.sockets unless entry.socket
        sockets.is_a?(Array) ? sockets : []
      end

      def ready(entry)
        return if entry.ready

        entry.ready = true
        @ready << entry
      end

      def take_due
        @looked_at = now = Ruby.now
        return if now < @next_due

        next_due = Ruby::NEVER
        @entries.each_value do |entry|
          next if entry.ready

          if entry.due <= now then ready(entry)
          elsif entry.due < next_due then next_due = entry.due
          end
        end
        @next_due = next_due
      end
    end
  end
end
