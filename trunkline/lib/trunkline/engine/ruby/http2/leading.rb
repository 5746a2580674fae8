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
          LOOK_AGAIN = 0.01

          # Begins a step of a call.
          def enter(call)
            call.touched = call.drained = false
            stop_waiting(call)
          end

          # @return [Boolean] whether this step may read: not while another call leads
          def may_read?(call) = !@dead && !call.drained && replaceable?(call)

          # @return [Boolean] whether bytes arrived
          def read(call, now)
            more = read_once(now)
            call.drained = !more
            more
          end

          # Opens the call's stream. @return [Stream, nil]
          def open(call, headers, **how)
            return if @dead

            write(Ruby.now) unless @session.room? # the last DATA of a stream may close it
            stream = @session.open(call, headers, **how) or return
            call.stream = stream
            call.sent_at = nil
            @sending << call
            stream
          end

          # Ends a step. @param waits [Boolean] whether the call waits from now on
          def leave(call, waits)
            wait_here(call) if waits
            call.again = waits && (call.touched || (call.leads && @unread))
            summon
          end

          # The call's stream continues without it.
          def forget(call) = @sending.delete(call)

          # Ends the call: its stream is reset unless it is complete.
          def quit(call, now)
            @sending.delete(call)
            @session.release(call.stream) if call.stream
            call.stream = nil
            write(now)
            summon
          end

          # Returns whether the socket did not accept all output. A leader that a thread or a Multi drives may not know
          # that.
          def full? = !@wants_write.nil?

          # If calls wait and none leads, wakes one of them to lead.
          def summon
            return if @followers.empty? || (@leader && !@leader.away?)

            chosen = able_follower
            if chosen then chosen.touch
            elsif @leader.nil? then @followers.find { |call| !call.passive? }&.touch
            end
          end

          private

          def prepare_leading
            @leader = nil
            @followers = []
          end

          # A leading thread cannot be woken before the socket is ready.
          def replaceable?(call)
            !call.passive? && (@leader.nil? || @leader.away? || (@leader.weak && !call.weak))
          end

          def nobody_reads? = @leader.nil? || @leader.away?

          def able_follower
            able = @followers.reject { |call| call.passive? || call.away? }
            able.find { |call| !call.weak } || able.first
          end

          # A fiber leads only if no thread can.
          def wait_here(call)
            thread = call.weak ? @followers.find { |one| !one.weak && !one.passive? && !one.away? } : nil
            return lead(call) if thread.nil? && replaceable?(call)

            call.follows = true
            @followers << call
            thread&.touch
          end

          def lead(call)
            before = @leader
            if before
              before.leads = false
              before.follows = true
              @followers << before
            end
            @leader = call
            call.leads = true
            call.events = @wants_write && @wants_write != @wants_read ? :both : @wants_read
          end

          def stop_waiting(call)
            @leader = nil if @leader.equal?(call)
            @followers.delete(call) if call.follows
            call.leads = call.follows = false
          end
        end
      end
    end
  end
end
