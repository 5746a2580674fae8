# frozen_string_literal: true

require_relative "worker"

module Trunkline
  class Bulk
    # Works at one slice and no more, as a job does.
    #
    # @api private
    class SliceWorker < Worker
      # Seconds for which it waits for a slice that another is about to cut.
      PATIENCE = 2.0
      # Slices that are cut at once, for the jobs that come next: to open a source may take long.
      AHEAD = 256
      private_constant :AHEAD, :PATIENCE

      # @return [Boolean] whether there was a slice for it
      def work
        super
        @worked
      end

      private

      def over?
        @stopped = true if @taken && @works.empty?
        super
      end

      def claim
        return if @taken

        @taken = true
        slice = claim_one || claim_new
        @worked = !slice.nil?
        slice
      end

      # @return [State::Slice, nil] of those that it cuts, or another who has the source
      def claim_new
        limit = now + PATIENCE
        loop do
          cut = cut_ahead
          slice = claim_one
          return slice if slice || cut || @state.run(@run.key).cut_all || now > limit

          sleep 0.1
        end
      end

      # @return [Boolean] whether it had the source
      def cut_ahead
        cut = 0
        cut += 1 while cut < AHEAD / Feeder::AT_ONCE && @feeder.cut
        cut.positive?
      ensure
        @feeder.close
      end
    end
  end
end
