# frozen_string_literal: true

require_relative "../limiter"
require_relative "../memo"

module Trunkline
  module Insight
    # How long calls took, and would take. All of it from their own timings.
    #
    # @api private
    module Estimate
      # How many requests a batch begins with.
      LANES = Limiter::AdaptiveLimit::START
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

        # One batch of the same calls: each goes to the request in flight that is free first. The first has the
        # connection that is open already, if there is one; the others have to open theirs, but over HTTP/2.
        #
        # @param calls [Array<Call>] to one host
        # @return [Float] seconds
        def side_by_side(calls)
          opening = calls.filter_map(&:opening).max || 0.0
          opening = @openings.fetch(calls[0].host, 0.0) unless opening.positive?
          first = calls.all?(&:opened?) ? opening : 0.0
          others = calls.any?(&:multiplexed) ? first : opening
          free = [first, *Array.new([LANES, calls.size].min - 1, others)]
          calls.each do |call|
            next_free = free.each_index.min_by { |index| free[index] }
            free[next_free] += call.service
          end
          [free.max, covered(calls)].min
        end
      end
    end
  end
end
