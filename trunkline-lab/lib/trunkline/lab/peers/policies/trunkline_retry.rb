# frozen_string_literal: true

require_relative "../../retrying"
require_relative "trunkline_alone"

module Trunkline
  module Lab
    module Peers
      # Trunkline with as many attempts as the other clients, and the default budget.
      class TrunklineRetry < TrunklineAlone
        label "Trunkline, retry: true"

        private

        def options = super.merge(retry: retries)

        def retries
          { attempts: Retrying::ATTEMPTS, statuses: Retrying::STATUSES,
            backoff: Retrying::PAUSE..Retrying::LONGEST_PAUSE }
        end
      end
    end
  end
end
