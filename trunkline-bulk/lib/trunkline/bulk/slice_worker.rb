# frozen_string_literal: true

require_relative "worker"

module Trunkline
  class Bulk
    # A worker that processes only one slice, for a job.
    #
    # @api private
    class SliceWorker < Worker
      # Seconds to wait for a slice that another worker is about to cut.
      PATIENCE = 2.0
      # Slices that are cut at once, for the following jobs, because opening a source may take long.
      AHEAD = 256
      private_constant :AHEAD, :PATIENCE

      # @return [Boolean] whether there was a slice to process
      def work
        super
        @worked
      end

      private

      def stopped?
        @stopped = true if @claimed && @works.empty?
        super
      end

      def claim
        return if @claimed

        @claimed = true
        slice = claim_one || claim_new
        @worked = !slice.nil?
        slice
      end

      # @return [State::Slice, nil] a slice that this worker has cut, or the worker that holds the source
      def claim_new
        limit = now + PATIENCE
        loop do
          cut = cut_ahead
          slice = claim_one
          return slice if slice || cut || @state.run(@run.key).cut_all || now > limit

          sleep 0.1
        end
      end

      # @return [Boolean] whether slices were cut
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
