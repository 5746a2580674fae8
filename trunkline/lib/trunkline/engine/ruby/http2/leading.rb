# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      module HTTP2
        # Decides which call reads a Connection. Of the calls that wait, one leads: it waits for the socket and reads
        # for all. The others follow: they wait for their wakers (docs/decisions/0005-shared-connections.md). The caller
        # of each method holds the connection's lock.
        module Leading
          # Seconds after which a call that does not lead tries again to write output that the socket did not accept.
          WRITE_RETRY_INTERVAL = 0.01

          # Begins a step of a call.
          def enter(call)
            call.has_input = call.drained = false
            stop_waiting(call)
          end

          # @return [Boolean] whether this step may read: not while another call leads
          def may_read?(call) = !@dead && !call.drained && may_replace?(call)

          # @return [Boolean] whether bytes arrived
          def read(call, now)
            more = read_once(now)
            call.drained = !more
            more
          end

          # Opens the call's stream. @return [Stream, nil]
          def open(call, headers, **options)
            return if @dead

            write(Ruby.now) unless @session.room? # the last DATA of a stream may close it
            stream = @session.open(call, headers, **options) or return
            call.stream = stream
            call.sent_at = nil
            @sending << call
            stream
          end

          # Ends a step. @param waits [Boolean] whether the call waits from now on
          def leave(call, waits)
            begin_wait(call) if waits
            call.again = waits && (call.has_input || (call.leading && @unread))
            wake_new_leader
          end

          # The call's stream continues without it.
          def forget(call) = @sending.delete(call)

          # Ends the call: its stream is reset unless it is complete.
          def quit(call, now)
            @sending.delete(call)
            @session.release(call.stream) if call.stream
            call.stream = nil
            write(now)
            wake_new_leader
          end

          # Returns whether the socket did not accept all output. A leader that a thread or a Multi drives may not know
          # that.
          def write_blocked? = !@wants_write.nil?

          # If calls wait and none leads, wakes one of them to lead.
          def wake_new_leader
            return if @followers.empty? || (@leader && !@leader.away?)

            chosen = able_follower
            if chosen then chosen.note_input
            elsif @leader.nil? then @followers.find { |call| !call.never_leads? }&.note_input
            end
          end

          private

          def prepare_leading
            @leader = nil
            @followers = []
          end

          # A leading thread cannot be woken before the socket is ready.
          def may_replace?(call)
            !call.never_leads? && (@leader.nil? || @leader.away? || (@leader.fiber_driven && !call.fiber_driven))
          end

          def nobody_reads? = @leader.nil? || @leader.away?

          def able_follower
            able = @followers.reject { |call| call.never_leads? || call.away? }
            able.find { |call| !call.fiber_driven } || able.first
          end

          def thread_driven_follower
            @followers.find { |call| !call.fiber_driven && !call.never_leads? && !call.away? }
          end

          # A fiber leads only if no thread can.
          def begin_wait(call)
            thread = thread_driven_follower if call.fiber_driven
            return lead(call) if thread.nil? && may_replace?(call)

            call.follows = true
            @followers << call
            thread&.note_input
          end

          def lead(call)
            before = @leader
            if before
              before.leading = false
              before.follows = true
              @followers << before
            end
            @leader = call
            call.leading = true
            call.events = @wants_write && @wants_write != @wants_read ? :both : @wants_read
          end

          def stop_waiting(call)
            @leader = nil if @leader.equal?(call)
            @followers.delete(call) if call.follows
            call.leading = call.follows = false
          end
        end
      end
    end
  end
end
