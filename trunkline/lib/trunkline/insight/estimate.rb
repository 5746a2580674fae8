# frozen_string_literal: true

require_relative "../limiter"

module Trunkline
  module Insight
    # How long calls took, and would take. All of it from their own timings.
    #
    # @api private
    module Estimate
      # How many requests a batch begins with.
      LANES = Limiter::AdaptiveLimit::START

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

        # One batch of the same calls: each goes to the request in flight that is free first. The first has the
        # connection that is open already, if there is one; the others have to open theirs.
        #
        # @param calls [Array<Call>]
        # @return [Float] seconds
        def side_by_side(calls)
          opening = calls.filter_map(&:opening).max || 0.0
          free = Array.new([LANES, calls.size].min, opening)
          free[0] = 0.0 unless calls.all?(&:opened?)
          calls.each do |call|
            first = free.each_index.min_by { |index| free[index] }
            free[first] += call.service
          end
          [free.max, covered(calls)].min
        end
      end
    end
  end
end
