# frozen_string_literal: true

require_relative "faraday_retry"

module Trunkline
  module Lab
    module Peers
      # For a slow tail without hedging: a short timeout and a retry.
      class FaradayRetryImpatient < FaradayRetry
        label "Faraday, timeout and retry"

        def initialize(**options) = super(**options, timeout: Retrying::IMPATIENT)
      end
    end
  end
end
