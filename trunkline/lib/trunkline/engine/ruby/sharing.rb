# frozen_string_literal: true

module Trunkline
  module Engine
    class Pool
      # Connections that many calls share over HTTP/2 (docs/decisions/0005-shared-connections.md), up to the number of
      # calls that the server allows. Where HTTP/2 may be used, one connection is opened at a time, and other calls wait
      # some time for its result. The caller holds the lock of the pools, unless a method says otherwise.
      module Sharing
        SHARING_WAIT = 0.25
        # Seconds between reads of connections that no call reads.
        MAINTENANCE_INTERVAL = 1.0
        # Number of servers without connections whose protocol is remembered.
        KNOWN_SERVERS = 256
        private_constant :SHARING_WAIT, :MAINTENANCE_INTERVAL, :KNOWN_SERVERS

        # Returns whether an open connection accepts extended CONNECT (RFC 8441). The caller does not hold the lock.
        def takes_websocket?(request)
          Ruby::Checks.exchange(self, request, nil)
          key = request.origin.key
          Pool.locked do
            @buckets[key]&.shared&.any? { |one| one.http2.supports_connect? && !one.http2.closing? } ? true : false
          end
        rescue Ruby::Failure # its TLS options cannot be used; the call raises that failure
          false
        end

        # Ends a call's use of a shared connection; after the last call it is idle until `idle_until`. The caller does
        # not hold the lock.
        def leave(connection, idle_until)
          over = Pool.locked { leave_locked(connection, idle_until) unless connection.pid != Ruby.pid }
          over&.each { |one| one.close(true) }
          Ruby::Reaper.expect(idle_until)
        end

        # Must be called when a shared connection accepts more calls than before, or no more. The caller does not hold
        # the lock.
        def reconsider(connection)
          over = Pool.locked do
            next if connection.bucket.nil?
            next retire(connection) if connection.http2.closing?

            connection.bucket.most = connection.http2.max_streams
            serve_waiters(connection.bucket)
            false
          end
          connection.close(true) if over
        end

        # Serves the tickets that wait for a dial of a call whose driver has gone away. The caller does not hold the
        # lock.
        def driver_left
          return if @dialling.zero?

          Pool.locked do
            @buckets.each_value do |bucket|
              serve_waiters(bucket) if bucket.diallers.any? { |ticket| ticket.waker.away? }
            end
          end
        end

        # Reads shared connections that no call reads. The caller does not hold the lock. @return [Float] when to call
        # it again
        def maintain_shared(now)
          shared = Pool.locked { @buckets.each_value.flat_map(&:shared) }
          shared.each { |one| reconsider(one) if Ruby.uninterruptible { one.http2.maintain(now) } }
          shared.empty? ? Ruby::NEVER : now + MAINTENANCE_INTERVAL
        end

        private

        def leave_locked(connection, idle_until)
          connection.calls -= 1
          bucket = connection.bucket
          if connection.calls.positive?
            serve_waiters(bucket) if bucket
            return
          end
          return [connection] if bucket.nil? && forget(connection)

          leave_idle(connection, bucket, idle_until)
        end

        def forget(connection)
          @closed_count += 1 if @all.delete(connection)
          true
        end

        # @return [Array<Connection>] connections to close
        def leave_idle(connection, bucket, idle_until)
          connection.idle_until = idle_until
          bucket.in_use -= 1
          Ruby::Capacity.release
          @idle[connection] = true
          if @closed || connection.unwanted || idle_until <= Ruby.now || connection.http2.closing?
            retire(connection)
            return [connection]
          end
          serve_waiters(bucket)
          @idle.size > @max_idle ? [evict(@idle.first.first)] : []
        end

        # Assigns no more calls to a shared connection. @return [Boolean] whether no call uses it
        def retire(connection)
          bucket = connection.bucket
          bucket.shared.delete(connection)
          connection.bucket = nil
          unless connection.calls.zero?
            release_slot(bucket)
            return false
          end
          @idle.delete(connection)
          forget(connection)
          serve_waiters(bucket)
          tidy(bucket)
          true
        end

        def add_shared(connection, bucket)
          connection.calls = 1
          bucket.shared << connection
          Ruby::Reaper.expect(Ruby.now + MAINTENANCE_INTERVAL)
        end

        def take_shared(bucket, ticket)
          bucket.shared.each do |one|
            next if (ticket.min_opened_at && one.opened_at < ticket.min_opened_at) || one.http2.closing? ||
                    one.calls >= stream_limit(bucket, one)

            if one.calls.zero?
              next unless begin_use(bucket, ticket)

              @idle.delete(one)
            end
            one.calls += 1
            @reused += 1
            return one
          end
          nil
        end

        # Until the server has sent SETTINGS, the limit of the previous connection is used; if there was none, one: a
        # server refuses streams beyond its limit.
        def stream_limit(bucket, connection)
          return connection.http2.max_streams if connection.http2.any_received?

          bucket.most.positive? ? bucket.most : 1
        end

        # ---- waiting for the result of a dial ----

        # @return [Boolean] whether the ticket should wait, because a shared connection may soon accept it
        def waits_for_others?(bucket, ticket)
          return false unless sharing_undecided?(bucket, ticket)

          since = [ticket.since, bucket.dialling_since].max
          ticket.sharing_wait_deadline = since + SHARING_WAIT
          Ruby.now < ticket.sharing_wait_deadline
        end

        def sharing_undecided?(bucket, ticket)
          return false if !ticket.may_share || bucket.unshared || bucket.dial_failed

          bucket.shared.any? { |one| !one.http2.any_received? && !one.http2.closing? } ||
            bucket.diallers.any? { |one| !one.waker.away? }
        end

        def begin_dial(bucket, ticket)
          ticket.dialling = ticket.may_share && !bucket.unshared && !bucket.dial_failed
          if ticket.dialling
            ticket.waker # creates it, since its #away? is checked during the dial
            bucket.dialling_since = Ruby.now if bucket.diallers.empty?
            bucket.diallers << ticket
            @dialling += 1
          end
          :dial
        end

        # After a failed dial no call waits for the next one: each finds out itself whether the server responds.
        def end_dial(bucket, ticket)
          if ticket.dialling
            bucket.dial_failed ||= ticket.dial_failed
            @dialling -= 1 if bucket.diallers.delete(ticket)
          end
          ticket.dialling = ticket.dial_failed = false
        end

        # Remembers a server's protocol while there is no connection to it.
        def remember(bucket)
          return unless bucket.unshared || bucket.most.positive?

          @servers.delete(bucket.key)
          @servers[bucket.key] = [bucket.unshared, bucket.most]
          @servers.shift if @servers.size > KNOWN_SERVERS
        end

        def recall(bucket)
          unshared, most = @servers[bucket.key]
          bucket.unshared = unshared ? true : false
          bucket.most = most || 0
        end
      end
    end
  end
end
