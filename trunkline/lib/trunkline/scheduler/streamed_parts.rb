# frozen_string_literal: true

require_relative "../interrupts"
require_relative "stream_blocks"

module Trunkline
  class Scheduler
    # The part of Scheduler that passes on the parts of streamed responses: to StreamBlocks, or to the Scheduler's
    # caller.
    #
    # @api private
    module StreamedParts
      private

      # @return [Boolean] whether result is a part of a streamed response, and not its end
      def part?(result) = !(result.nil? || result.is_a?(Exception))

      # @param blocks [StreamBlocks] (see PendingRequest)
      # @return [Array] the result and its status; at the end of a response that StreamBlocks took, that Response and
      #   its status
      def final_result(blocks, result)
        return [result, nil] unless result.nil? && blocks != StreamBlocks::NONE

        response = blocks.finish
        [response, response.status]
      end

      # @return [Boolean] whether a streamed request failed after the blocks got a part of the body: it is not retried
      def broken_off?(pending, result)
        blocks = pending.streamed
        return false unless result.is_a?(Exception) && blocks&.body_delivered?

        end_race(pending)
        pending.flow&.give_up
        true
      end

      # @param part [Response, String] the head, or a piece of the body
      # @return [Response, String, StandardError, nil] the value to be yielded: the part itself, or an error of the
      #   blocks, which ends the call
      def take_part(pending, part, now)
        blocks = pending.streamed
        return part if blocks == StreamBlocks::NONE

        pending.queue.head_arrived(pending, part, now) if part.is_a?(Response)
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
