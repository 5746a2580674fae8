# frozen_string_literal: true

require_relative "../memo"
require_relative "simulated_batch"

module Trunkline
  module Insight
    # Computes how long calls took, and how long a batch of them would take, from their timings only.
    #
    # @api private
    module Estimate
      # Maximum number of hosts whose time for opening a connection is kept.
      HOSTS = 64

      @openings = {}

      class << self
        # @param calls [Array<Call>]
        # @return [Float] seconds during which at least one of the calls was in progress
        def covered(calls)
          upto = -Float::INFINITY
          calls.sort_by(&:began).sum do |call|
            from = [call.began, upto].max
            upto = [call.ended, upto].max
            [call.ended - from, 0.0].max
          end
        end

        # Groups calls that overlapped in time.
        # @return [Array<Array<Call>>] one after another
        def rounds(calls)
          upto = nil
          calls.sort_by(&:began).slice_when do |before, call|
            upto = [upto, before.ended].compact.max
            call.began >= upto
          end.to_a
        end

        # Stores how long opening a connection to the call's host took, since later calls find it open.
        # @param call [Call]
        # @return [void]
        def learn(call)
          Memo.keep(@openings, HOSTS, call.host, call.opening) if call.opened?
        end

        # @param calls [Array<Call>] to one host
        # @return [Float] seconds that a batch of these calls would take
        def side_by_side(calls) = [SimulatedBatch.new(calls, opening_of(calls)).seconds, covered(calls)].min

        private

        def opening_of(calls)
          opening = calls.filter_map(&:opening).max || 0.0
          opening.positive? ? opening : @openings.fetch(calls[0].host, 0.0)
        end
      end
    end
  end
end
