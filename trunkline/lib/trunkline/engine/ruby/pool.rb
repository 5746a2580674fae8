# frozen_string_literal: true

require_relative "budget"
require_relative "capacity"
require_relative "connection"
require_relative "names"
require_relative "reaper"
require_relative "sharing"
require_relative "../../redacted"

module Trunkline
  module Engine
    # The connections to all servers, in a bucket for each route's key. A call gets a connection, or the right to open
    # one, or waits in the bucket's queue; it gives the connection or the right back. The pool does not look at sockets:
    # the caller checks the connection that it was given, and has it replaced when it is dead.
    class Pool
      include Redacted
      include Sharing

      # Calls and connections of one key.
      class Bucket
        include Redacted

        # Connections of one call at a time, and shared ones; tickets that wait, and those that open a connection which
        # may turn out to be shared.
        attr_reader :pool, :key, :idle, :shared, :queue, :diallers
        # How many connections, and rights to open one, are in use; since when one is being opened; how many calls the
        # last shared connection took; whether the server spoke HTTP/1.1; whether the last dial was in vain.
        attr_accessor :in_use, :unsettled_since, :most, :unshared, :in_vain

        def initialize(pool, key)
          @pool = pool
          @key = key
          @idle = []
          @shared = []
          @queue = []
          @diallers = []
          @in_use = @most = 0
          @unsettled_since = 0.0
          @unshared = @in_vain = false
        end

        def empty? = @in_use.zero? && @idle.empty? && @shared.empty? && @queue.empty?
      end

      # What the pool knows of a call that waits, or has the right to open a connection.
      class Ticket
        include Redacted

        attr_reader :limit, :may_share
        # The bucket where it holds a right, or waits; the connection that it was given while it waited; whether it
        # waits; whether #turn is to be called; the moment before which connections that it takes may not have been
        # opened, or nil.
        attr_accessor :bucket, :granted, :waiting, :called, :opened_after
        # Whether others wait for what becomes of its dial, and whether that failed; since when it waits, and until when
        # it waits for others' dials.
        attr_accessor :dialling, :in_vain, :since, :patient_until

        # @param exchange [Ruby::Exchange]
        # @param may_share [Boolean] whether a connection for it may speak HTTP/2
        def initialize(exchange, limit, may_share)
          @exchange = exchange
          @limit = limit
          @may_share = may_share
          @since = 0.0
          @patient_until = Ruby::NEVER
        end

        # Made when it begins to wait: most calls need none.
        def waker = @exchange.waker

        def call
          @called = true
          waker.wake
        end
      end
      private_constant :Bucket

      # Guards all pools, and the limit of the process: no method holds it for long. The code that holds it is run with
      # interrupts put off.
      LOCK = Lock.new
      private_constant :LOCK

      @all = []
      @pid = Ruby.pid

      class << self
        # In a forked child all pools are empty: what the parent has is its own.
        def after_fork
          @pid = Ruby.pid
          Ruby::SocketOptions.close_all
          remove_const(:LOCK)
          const_set(:LOCK, Lock.new)
          private_constant :LOCK
          Ruby::Capacity.after_fork
          Ruby::Budget.after_fork
          Ruby::Names.after_fork
          Ruby::Reaper.after_fork
          all.each(&:empty_after_fork)
        end

        def check_fork
          after_fork unless @pid == Ruby.pid
        end

        # The list is replaced, not changed: other threads may be going through it.
        def register(pool)
          locked { @all = @all.select(&:weakref_alive?) << WeakRef.new(pool) }
        end

        # @return [Array<Pool>] that are alive
        def all
          @all.filter_map do |one|
            one.__getobj__
          rescue WeakRef::RefError
            nil
          end
        end

        # @yield with the lock, and with interrupts put off
        def locked(&block)
          Ruby.uninterruptible { LOCK.synchronize(&block) }
        end

        # Closes connections whose time is over. @return [Float] when the next one's is
        def reap(now)
          due = Ruby::NEVER
          all.each do |pool|
            due_of_pool, evicted = pool.evict_due(now)
            evicted.each { |one| one.close(true) }
            due = [due, due_of_pool, pool.tend(now)].min
          end
          due
        end

        # Frees descriptors. @return [Boolean] false: there was nothing to close
        def make_room
          evicted = []
          all.each { |pool| evicted.concat(pool.evict_oldest(8)) }
          evicted.each { |one| one.close(true) }
          !evicted.empty?
        end
      end

      # @param max_idle [Integer]
      def initialize(max_idle)
        raise TypeError, "no implicit conversion of #{max_idle.class} into Integer" unless max_idle.is_a?(Integer)

        @max_idle = max_idle
        @opened = @reused = @closed_count = 0
        @closed = false
        forget_all
        Pool.register(self)
      end

      # @return [Hash{Symbol => Integer}]
      def stats
        Pool.check_fork
        Ruby::Dropped.clean
        Pool.locked do
          connections = @all.size
          { connections: connections, idle: @idle.size, in_use: connections - @idle.size, waiting: @waiting,
            opened: @opened, reused: @reused, closed: @closed_count }
        end
      end

      # @param owner [Integer, nil] the client family that opened them; nil: all
      # @return [Integer] how many were idle. Those in use are closed when they come back
      def close_idle(owner)
        Pool.check_fork
        evicted = Pool.locked do
          own = @all.keys.select { |one| owner.nil? || one.owner == owner }
          own.each { |one| one.unwanted = true }
          own.select { |one| @idle.key?(one) }.each { |one| evict(one) }
        end
        evicted.each { |one| one.close(true) }.size
      end

      # Takes no more calls: idle connections are closed now, those in use when they come back.
      def close
        Pool.locked do
          @closed = true
          @buckets.each_value { |bucket| bucket.queue.each(&:call) }
        end
        close_idle(nil)
        nil
      end

      # ---- for exchanges ----

      # Asks for a connection.
      #
      # @return [Ruby::Connection, :dial, :wait, :closed] :wait: call #turn when the ticket's waker was woken
      def acquire(ticket, key, now)
        Pool.check_fork
        LOCK.synchronize do
          return :closed if @closed

          bucket = @buckets[key] ||= Bucket.new(self, key).tap { |made| recall(made) }
          ticket.granted = nil
          ticket.since = now
          granted = grant(bucket, ticket) if bucket.queue.empty? || bucket.queue.all? { |one| one.waker.away? }
          next join(bucket, ticket) unless granted

          ticket.bucket = granted == :dial ? bucket : nil
          granted
        end
      end

      # What a ticket that waits has got meanwhile, as #acquire.
      def turn(ticket)
        LOCK.synchronize do
          ticket.called = false
          next take_granted(ticket) if ticket.granted
          return :closed if @closed || ticket.bucket.nil? || ticket.bucket.pool != self || !known?(ticket.bucket)

          ticket.patient_until = Ruby::NEVER
          serve(ticket.bucket) if ticket.waiting # it was passed over while its driver was away
          next :wait if ticket.waiting

          ticket.granted ? take_granted(ticket) : :dial
        end
      end

      # Closes a connection that is of no use, and gives the call another idle one in its stead; the right to open one
      # when there is none, or with `fresh`.
      # @return [Ruby::Connection, :dial, :closed]
      def replace(ticket, connection, fresh)
        result = LOCK.synchronize do
          next :closed unless (bucket = connection.bucket)

          remove(connection)
          other = take_idle(bucket) unless fresh
          ticket.bucket = other ? nil : bucket
          other || let_dial(bucket, ticket)
        end
        connection.close(false)
        result
      end

      # Leaves the queue, or gives up the right to open a connection.
      def cancel(ticket)
        shared = LOCK.synchronize do
          next ticket.granted if ticket.granted&.http2

          bucket = ticket.bucket
          next unless bucket && known?(bucket)

          ticket.waiting ? leave_queue(bucket, ticket) : give_up(bucket, ticket)
          nil
        end
        ticket.bucket = ticket.granted = nil
        leave(shared, shared.due(Ruby::NEVER)) if shared
      end

      # Adds a new connection, in use by the call that had the right to open it.
      def add(ticket, connection)
        LOCK.synchronize do
          add_to(ticket.bucket, connection, ticket) if ticket.bucket && known?(ticket.bucket)
          ticket.bucket = nil
        end
      end

      # Gives a connection back, for others to use until `idle_until`.
      def checkin(connection, now, idle_until)
        evicted = nil
        kept = LOCK.synchronize do
          bucket = connection.bucket
          next false unless bucket && !@closed && !connection.unwanted && idle_until > now

          connection.idle_until = idle_until
          bucket.idle << connection
          @idle[connection] = true
          release(bucket)
          evicted = evict(@idle.first.first) if @idle.size > @max_idle
          true
        end
        return discard(connection, true) unless kept

        evicted&.close(true)
        Ruby::Reaper.expect(idle_until)
      end

      # Closes a connection that was in use; a waiting call may open another.
      def discard(connection, notify)
        LOCK.synchronize do
          if (bucket = connection.bucket)
            remove(connection)
            release(bucket)
          end
        end
        connection.close(notify)
      end

      # @return [String] which limit makes the ticket wait, for a person to read
      def why_waiting(ticket)
        LOCK.synchronize do
          next "" unless ticket.waiting

          if ticket.bucket.in_use >= ticket.limit
            "as many connections as max_connections_per_host: allows are in use"
          elsif Ruby::Capacity.full?
            "as many connections as max_connections allows the process are in use"
          else
            "a connection that can be shared is being opened"
          end
        end
      end

      # ---- for the class, and the limit of the process ----

      def empty_after_fork
        @all.each_key { |one| one.close(false) }
        forget_all
      end

      def evict_due(now)
        Pool.locked do
          over = @idle.keys.select { |one| one.idle_until <= now }.each { |one| evict(one) }
          [@idle.each_key.map(&:idle_until).min || Ruby::NEVER, over]
        end
      end

      def evict_oldest(count)
        Pool.locked { @idle.keys.first(count).each { |one| evict(one) } }
      end

      # First come, first served. One whose driver is away is passed over, and called so that it asks when its driver
      # is back; one that takes new connections alone lets the next ones have an old connection. With the lock.
      def serve(bucket)
        bucket.queue.dup.each do |ticket|
          next ticket.call if ticket.waker.away?

          granted = grant(bucket, ticket)
          break unless granted || ticket.opened_after
          next unless granted

          dequeue(bucket, ticket)
          ticket.granted = granted == :dial ? nil : granted
          ticket.call
        end
      end

      private

      def forget_all
        @buckets = {}
        @servers ||= {} # by key: what they spoke
        @all = {}.compare_by_identity
        @idle = {}.compare_by_identity # the one that was idle longest first
        @waiting = @dialling = 0
      end

      def known?(bucket) = @buckets[bucket.key].equal?(bucket)

      def grant(bucket, ticket)
        shared = take_shared(bucket, ticket)
        return shared if shared
        return if bucket.in_use >= ticket.limit || waits_for_others?(bucket, ticket)
        return unless begin_use(bucket, ticket)

        (take_idle(bucket) unless ticket.opened_after) || let_dial(bucket, ticket)
      end

      # Counts a connection, or the right to open one. @return [Boolean] whether the limits allow it
      def begin_use(bucket, ticket)
        return false if bucket.in_use >= ticket.limit || !Ruby::Capacity.take(bucket)

        bucket.in_use += 1
        true
      end

      def add_to(bucket, connection, ticket)
        connection.bucket = bucket
        @all[connection] = true
        @opened += 1
        bucket.unshared = ticket.may_share && connection.http2.nil?
        bucket.in_vain = false
        add_shared(connection, bucket) if connection.http2
        return unless ticket.dialling

        dial_is_over(bucket, ticket)
        serve(bucket)
      end

      def take_idle(bucket)
        connection = bucket.idle.pop or return
        @idle.delete(connection)
        @reused += 1
        connection
      end

      # What was handed over while it waited; the bucket may be gone.
      def take_granted(ticket)
        ticket.bucket = nil
        ticket.granted.tap { ticket.granted = nil }
      end

      def join(bucket, ticket)
        ticket.waker
        ticket.bucket = bucket
        ticket.waiting = true
        bucket.queue << ticket
        @waiting += 1
        :wait
      end

      def dequeue(bucket, ticket)
        bucket.queue.delete(ticket)
        ticket.waiting = false
        @waiting -= 1
      end

      def leave_queue(bucket, ticket)
        dequeue(bucket, ticket)
        serve(bucket)
        tidy(bucket)
      end

      def give_up(bucket, ticket)
        dial_is_over(bucket, ticket)
        if ticket.granted
          bucket.idle << ticket.granted
          @idle[ticket.granted] = true
        end
        release(bucket)
      end

      def release(bucket)
        bucket.in_use -= 1
        serve(bucket) unless bucket.queue.empty?
        tidy(bucket)
        Ruby::Capacity.give
      end

      def remove(connection)
        connection.bucket = nil
        @all.delete(connection)
        @closed_count += 1
      end

      def evict(connection)
        bucket = connection.bucket
        @idle.delete(connection)
        bucket.idle.delete(connection)
        bucket.shared.delete(connection)
        remove(connection)
        tidy(bucket)
        connection
      end

      def tidy(bucket)
        return unless bucket.empty?

        remember(bucket)
        @buckets.delete(bucket.key)
      end
    end
  end
end
