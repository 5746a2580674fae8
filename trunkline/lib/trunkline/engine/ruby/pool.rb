# frozen_string_literal: true

require_relative "budget"
require_relative "capacity"
require_relative "checks"
require_relative "connection"
require_relative "names"
require_relative "reaper"
require_relative "sharing"
require_relative "step_lock"
require_relative "../../of_main_ractor"
require_relative "../../redacted"

module Trunkline
  module Engine
    # The connections to all servers, in a bucket for each route's key. A call gets a connection, or a permit to open
    # one, or waits in the bucket's queue; it returns the connection or the permit. The pool does not touch sockets: the
    # caller checks the connection that it got, and has it replaced when it is dead.
    class Pool
      include OfMainRactor
      include Redacted
      include Sharing

      # Calls and connections of one key.
      class Bucket
        include Redacted

        # Connections for one call at a time, and shared ones; tickets that wait, and tickets that open a connection
        # which may become a shared one.
        attr_reader :pool, :key, :idle, :shared, :queue, :diallers
        # Number of connections in use and of permits to open one; since when one is being opened; how many calls the
        # last shared connection accepted; whether the server uses HTTP/1.1; whether the last dial failed.
        attr_accessor :in_use, :dialling_since, :most, :unshared, :dial_failed

        def initialize(pool, key)
          @pool = pool
          @key = key
          @idle = []
          @shared = []
          @queue = []
          @diallers = []
          @in_use = @most = 0
          @dialling_since = 0.0
          @unshared = @dial_failed = false
        end

        def empty? = @in_use.zero? && @idle.empty? && @shared.empty? && @queue.empty?
      end

      # The pool's state of a call that waits, or has a permit to open a connection.
      class Ticket
        include Redacted

        attr_reader :limit, :may_share
        # The bucket where it has a permit, or waits; the connection that it was assigned while it waited; whether it
        # waits; whether #turn must be called; the time before which a connection must not have been opened, or nil.
        attr_accessor :bucket, :granted, :waiting, :turn_due, :min_opened_at
        # Whether other tickets wait for the result of its dial, and whether the dial failed; since when it waits, and
        # until when it waits for other tickets' dials.
        attr_accessor :dialling, :dial_failed, :since, :sharing_wait_deadline

        # @param exchange [Ruby::Exchange]
        # @param may_share [Boolean] whether a connection for it may speak HTTP/2
        def initialize(exchange, limit, may_share)
          @exchange = exchange
          @limit = limit
          @may_share = may_share
          @since = 0.0
          @sharing_wait_deadline = Ruby::NEVER
        end

        # Created when it begins to wait: most calls need none.
        def waker = @exchange.waker

        def make_turn_due
          @turn_due = true
          waker.wake
        end
      end
      private_constant :Bucket

      # Guards all pools and the limit of the process; no method holds it for long. Interrupts are deferred while it is
      # held.
      LOCK = Ruby::StepLock.new
      private_constant :LOCK

      @all = []
      @pid = Ruby.pid

      class << self
        # Empties all pools in a forked child: the connections belong to the parent.
        def after_fork
          @pid = Ruby.pid
          Ruby::SocketOptions.close_all
          remove_const(:LOCK)
          const_set(:LOCK, Ruby::StepLock.new)
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

        # The list is replaced, not changed, since other threads may be iterating over it.
        def register(pool)
          locked { @all = @all.select(&:weakref_alive?) << WeakRef.new(pool) }
        end

        # @return [Array<Pool>] the pools that are alive
        def all
          @all.filter_map do |one|
            one.__getobj__
          rescue WeakRef::RefError
            nil
          end
        end

        # @yield with the lock held, and with interrupts deferred
        def locked(&block)
          Ruby.uninterruptible { LOCK.synchronize(&block) }
        end

        # Closes connections that have expired. @return [Float] when the next one expires
        def reap(now)
          due = Ruby::NEVER
          all.each do |pool|
            due_of_pool, evicted = pool.evict_due(now)
            evicted.each { |one| one.close(true) }
            due = [due, due_of_pool, pool.maintain_shared(now)].min
          end
          due
        end

        # Frees file descriptors. @return [Boolean] false: no connection could be closed
        def make_room
          evicted = []
          all.each { |pool| evicted.concat(pool.evict_oldest(8)) }
          evicted.each { |one| one.close(true) }
          !evicted.empty?
        end
      end

      # @param max_idle [Integer]
      def initialize(max_idle)
        @anchor = OfMainRactor::ANCHOR
        @max_idle = Ruby::Checks.count(max_idle)
        @opened = @reused = @closed_count = 0
        @closed = false
        forget_all
        Pool.register(self)
      end

      # @return [Hash{Symbol => Integer}]
      def stats
        check
        Pool.check_fork
        Ruby::Dropped.clean
        Pool.locked do
          connections = @all.size
          { connections: connections, idle: @idle.size, in_use: connections - @idle.size, waiting: @waiting,
            opened: @opened, reused: @reused, closed: @closed_count }
        end
      end

      # @param owner [Integer, nil] the owner id of the clients that opened them; nil: all
      # @return [Integer] how many were idle. Connections in use are closed when they are returned
      def close_idle(owner)
        check
        owner = Ruby::Checks.integer_or_nil(owner)
        Pool.check_fork
        evicted = Pool.locked do
          connections = @all.keys.select { |one| owner.nil? || one.owner == owner }
          connections.each { |one| one.unwanted = true }
          connections.select { |one| @idle.key?(one) }.each { |one| evict(one) }
        end
        evicted.each { |one| one.close(true) }.size
      end

      # Accepts no more calls: idle connections are closed now, those in use when they are returned.
      def close
        Pool.locked do
          check
          @closed = true
          @buckets.each_value { |bucket| bucket.queue.each(&:make_turn_due) }
        end
        close_idle(nil)
        nil
      end

      # @raise [ArgumentError] for a pool that was only allocated
      def check = @buckets || raise(ArgumentError, "the pool was not initialized")

      # ---- for exchanges ----

      # Asks for a connection.
      #
      # @return [Ruby::Connection, :dial, :wait, :closed] :wait: call #turn when the ticket's waker has been woken
      def acquire(ticket, key, now)
        Pool.check_fork
        LOCK.synchronize do
          return :closed if @closed

          bucket = @buckets[key] ||= Bucket.new(self, key).tap { |made| recall(made) }
          ticket.granted = nil
          ticket.since = now
          granted = grant(bucket, ticket) if bucket.queue.empty? || bucket.queue.all? { |one| one.waker.away? }
          next enqueue(bucket, ticket) unless granted

          ticket.bucket = granted == :dial ? bucket : nil
          granted
        end
      end

      # Returns what a waiting ticket has got meanwhile, as #acquire does.
      def turn(ticket)
        LOCK.synchronize do
          ticket.turn_due = false
          next take_granted(ticket) if ticket.granted
          return :closed if @closed || ticket.bucket.nil? || ticket.bucket.pool != self || !known?(ticket.bucket)

          ticket.sharing_wait_deadline = Ruby::NEVER
          serve_waiters(ticket.bucket) if ticket.waiting # it was skipped while its driver was away
          next :wait if ticket.waiting

          ticket.granted ? take_granted(ticket) : :dial
        end
      end

      # Closes an unusable connection, and returns another idle one for the call; a permit to open one if there is none,
      # or with `fresh`.
      # @return [Ruby::Connection, :dial, :closed]
      def replace(ticket, connection, fresh)
        result = LOCK.synchronize do
          next :closed unless (bucket = connection.bucket)

          remove(connection)
          other = take_idle(bucket) unless fresh
          ticket.bucket = other ? nil : bucket
          other || begin_dial(bucket, ticket)
        end
        connection.close(false)
        result
      end

      # Leaves the queue, or returns the permit to open a connection.
      def cancel(ticket)
        shared = LOCK.synchronize do
          next ticket.granted if ticket.granted&.http2

          bucket = ticket.bucket
          next unless bucket && known?(bucket)

          ticket.waiting ? leave_queue(bucket, ticket) : return_permit(bucket, ticket)
          nil
        end
        ticket.bucket = ticket.granted = nil
        leave(shared, shared.due(Ruby::NEVER)) if shared
      end

      # Adds a new connection, in use by the call that had the permit to open it.
      def add(ticket, connection)
        LOCK.synchronize do
          add_to(ticket.bucket, connection, ticket) if ticket.bucket && known?(ticket.bucket)
          ticket.bucket = nil
        end
      end

      # Returns a connection to the pool, where other calls may use it until `idle_until`.
      def checkin(connection, now, idle_until)
        evicted = nil
        stored = LOCK.synchronize do
          bucket = connection.bucket
          next false unless bucket && !@closed && !connection.unwanted && idle_until > now

          connection.idle_until = idle_until
          bucket.idle << connection
          @idle[connection] = true
          release_slot(bucket)
          evicted = evict(@idle.first.first) if @idle.size > @max_idle
          true
        end
        return discard(connection, true) unless stored

        evicted&.close(true)
        Ruby::Reaper.expect(idle_until)
      end

      # Closes a connection that was in use; a waiting call may open another.
      def discard(connection, notify)
        LOCK.synchronize do
          if (bucket = connection.bucket)
            remove(connection)
            release_slot(bucket)
          end
        end
        connection.close(notify)
      end

      # @return [String] the limit that makes the ticket wait, for a message
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

      # ---- for Pool's class methods and Ruby::Capacity ----

      def empty_after_fork
        @all.each_key { |one| one.close(false) }
        forget_all
        @opened = @reused = @closed_count = 0
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

      # Serves tickets in the order of the queue. A ticket whose driver is away is skipped, and woken so that it calls
      # #turn when its driver is back; a ticket that accepts only new connections leaves an idle one to later tickets.
      # The caller holds the lock.
      def serve_waiters(bucket)
        bucket.queue.dup.each do |ticket|
          next ticket.make_turn_due if ticket.waker.away?

          granted = grant(bucket, ticket)
          break unless granted || ticket.min_opened_at
          next unless granted

          dequeue(bucket, ticket)
          ticket.granted = granted == :dial ? nil : granted
          ticket.make_turn_due
        end
      end

      private

      def forget_all
        @buckets = {}
        @servers ||= {} # by key: the protocol that each server used
        @all = {}.compare_by_identity
        @idle = {}.compare_by_identity # the connection that was idle longest comes first
        @waiting = @dialling = 0
      end

      def known?(bucket) = @buckets[bucket.key].equal?(bucket)

      def grant(bucket, ticket)
        shared = take_shared(bucket, ticket)
        return shared if shared
        return if bucket.in_use >= ticket.limit || waits_for_others?(bucket, ticket)
        return unless begin_use(bucket, ticket)

        (take_idle(bucket) unless ticket.min_opened_at) || begin_dial(bucket, ticket)
      end

      # Counts a connection, or the permit to open one. @return [Boolean] whether the limits allow it
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
        bucket.dial_failed = false
        add_shared(connection, bucket) if connection.http2
        return unless ticket.dialling

        end_dial(bucket, ticket)
        serve_waiters(bucket)
      end

      def take_idle(bucket)
        connection = bucket.idle.pop or return
        @idle.delete(connection)
        @reused += 1
        connection
      end

      # Returns the connection that was assigned while the ticket waited; the bucket may have been removed.
      def take_granted(ticket)
        ticket.bucket = nil
        ticket.granted.tap { ticket.granted = nil }
      end

      def enqueue(bucket, ticket)
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
        serve_waiters(bucket)
        tidy(bucket)
      end

      def return_permit(bucket, ticket)
        end_dial(bucket, ticket)
        if ticket.granted
          bucket.idle << ticket.granted
          @idle[ticket.granted] = true
        end
        release_slot(bucket)
      end

      def release_slot(bucket)
        bucket.in_use -= 1
        serve_waiters(bucket) unless bucket.queue.empty?
        tidy(bucket)
        Ruby::Capacity.release
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
