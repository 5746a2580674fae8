# frozen_string_literal: true

require_relative "../memo"
require_relative "simulated_batch"

module Trunkline
  module Insight
    # How long calls took, and would take. All of it from their own timings.
    #
    # @api private
    module Estimate
      # Hosts of which it is known how long opening a connection takes.
      HOSTS = 64

      @openings = {}

      class << self
        # @param calls [Array<Call>]
        # @return [Float] seconds in which any of them was under way
        def covered(calls)
          upto = -Float::INFINITY
          calls.sort_by(&:began).sum do |call|
            from = [call.began, upto].max
            upto = [call.ended, upto].max
            [call.ended - from, 0.0].max
          end
        end

        # Groups of calls that were under way at the same time.
        # @return [Array<Array<Call>>] one after another
        def rounds(calls)
          upto = nil
          calls.sort_by(&:began).slice_when do |before, call|
            upto = [upto, before.ended].compact.max
            call.began >= upto
          end.to_a
        end

        # Keeps how long opening a connection to the call's host took: later calls have it open.
        # @param call [Call]
        # @return [void]
        def learn(call)
          Memo.keep(@openings, HOSTS, call.host, call.opening) if call.opened?
        end

        # @param calls [Array<Call>] to one host
        # @return [Float] seconds that one batch of the same calls would take
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
