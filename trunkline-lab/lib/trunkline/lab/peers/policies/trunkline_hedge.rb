# frozen_string_literal: true

require_relative "trunkline_alone"

module Trunkline
  module Lab
    module Peers
      # Trunkline with hedging and its default settings.
      class TrunklineHedge < TrunklineAlone
        label "Trunkline, hedge: true"

        private

        def options = super.merge(hedge: true)
      end
    end
  end
end
