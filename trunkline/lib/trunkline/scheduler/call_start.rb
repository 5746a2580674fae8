# frozen_string_literal: true

require_relative "../interrupts"
require_relative "flow"

module Trunkline
  class Scheduler
    # The part of Scheduler that begins calls which may need more than one exchange.
    #
    # @api private
    module CallStart
      private

      # The time of a whole call begins when the engine runs next, since the caller may do other work before that. A
      # call with a rate limit begins at once, so that #held_back? counts it.
      # @return [nil]
      def begin_soon(pending, now)
        policy = pending.policy
        return give_to_engine(pending) unless policy.repeats? || pending.caller_context
        return begin_call(pending, now) if policy.rate

        @to_begin << pending
        @current = nil
      end

      def begin_calls
        now = clock
        while (pending = @to_begin.first)
          @current = pending
          @to_begin.shift
          begin_call(pending, now)
        end
      end

      # When a call has no policy but redirects, its policies run only after the first redirect response.
      # @return [nil]
      def begin_call(pending, now)
        policy = pending.policy
        begin_time(pending, policy, now)
        unless policy.only_follows? && pending.caller_context.nil?
          wanted = begin_flow(pending).first
          return undo_start(pending, wanted, now) unless goes_to?(pending.queue, pending, wanted)
        end
        give_to_engine(pending)
      rescue Error, InvalidRequest, MissingTimeout => error
        raise if Interrupts.ended_by?(error)

        not_started(error, pending, true)
      end

      # @return [nil]
      def give_to_engine(pending)
        pending.id = (@multi || open_multi).add(pending.request, pending.deadline, pending)
        @current = nil
      end

      # @return [Boolean] whether the call wants to send a request to the origin that it was counted for
      def goes_to?(queue, pending, wanted)
        return false unless wanted.is_a?(Request)

        pending.request = wanted
        @origins.queue_for(pending).equal?(queue)
      end

      # The policies send no request, send it later, or send it to another origin: the start is undone.
      # @return [nil]
      def undo_start(pending, wanted, now)
        end_exchange(pending)
        @rate&.give_back
        perform_step(pending, wanted, now)
      end

      def begin_time(pending, policy, now)
        pending.began ||= now
        pending.deadline ||= [policy.deadline(now), pending.caller_context&.limit].compact.min
      end

      # The exchange's timeout was the rest of the call's time, so its error is changed to name the limit of the whole
      # call.
      #
      # @return [Exception] the changed error, or error itself
      def of_whole_call(pending, error)
        return error unless error.is_a?(TotalTimeout) && pending.began

        error.with_facts({ limit: pending.deadline - pending.began })
      end

      # @return [Flow]
      def begin_flow(pending)
        pending.flow = Flow.new(pending.policy, pending.request, pending.began, pending.caller_context,
                                races_streams: pending.streamed != StreamBlocks::NONE)
      end

      # A rate limit delays the requests to its origin in the queue, where they have not begun. A request whose delay
      # ends after its deadline begins at once, and fails.
      # @return [Boolean]
      def held_back?(pending, queue, now)
        rate = pending.policy.rate or return false
        delay = rate.delay(pending.request, now)
        limit = pending.caller_context&.limit
        return false if delay.zero? || (limit && now + delay > limit)

        queue.hold_until(now + delay)
        @origins.unshift(pending, queue)
        @current = nil
        true
      end
    end
  end
end
