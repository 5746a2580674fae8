# frozen_string_literal: true

require_relative "trunkline_retry"

module Trunkline
  module Lab
    module Peers
      # Trunkline with retries without a budget, like the other clients.
      class TrunklineRetryUnlimited < TrunklineRetry
        label "Trunkline, budget: false"

        private

        def retries = super.merge(budget: false)
      end
    end
  end
end
