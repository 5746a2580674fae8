# frozen_string_literal: true

require_relative "../interrupts"
require_relative "stream_blocks"

module Trunkline
  class Scheduler
    # What a Scheduler does with the parts of streamed responses: StreamBlocks take them, or whoever drives it.
    #
    # @api private
    module Parts
      private

      # @return [Boolean] whether a streamed request goes on behind it
      def part?(result) = !(result.nil? || result.is_a?(Exception))

      # @param taker [StreamBlocks, true] (see PendingRequest)
      # @return [Array] in the place of the end of a streamed one, the Response that blocks have taken, and its status
      def whole(taker, result)
        return [result, nil] unless result.nil? && taker != true

        response = taker.finish
        [response, response.status]
      end

      # @return [Boolean] whether a streamed one has failed behind its head: no policy makes the call again
      def broken_off?(pending, result)
        blocks = pending.streamed
        return false unless result.is_a?(Exception) && blocks && blocks != true && blocks.told?

        end_race(pending)
        pending.flow&.give_up
        true
      end

      # @param part [Response, String] the head, or a piece of the body
      # @return [Response, String, StandardError, nil] what is to be yielded: an error of the blocks, which ends the
      #   call
      def take_part(pending, part, now)
        blocks = pending.streamed
        return part if blocks == true

        pending.queue.answered(pending, part, now) if part.is_a?(Response)
        blocks.take(part)
        nil
      rescue StandardError => error
        raise if Interrupts.ended_by?(error)

        withdraw(pending)
        pending.flow&.give_up
        pending.request.release
        error
      end
    end
  end
end
