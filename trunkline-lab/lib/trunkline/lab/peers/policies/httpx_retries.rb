# frozen_string_literal: true

require_relative "../../retrying"
require_relative "../httpx"

module Trunkline
  module Lab
    module Peers
      # The retries plugin, configured to also retry refusals.
      class HTTPXRetries < HTTPX
        label "httpx, retries plugin"

        private

        # The plugin for persistent connections would also retry POSTs.
        def persistent(session) = session

        def open
          super.plugin(:retries).with(max_retries: Retrying::ATTEMPTS - 1, retry_after: Retrying::PAUSE,
                                      retry_on: ->(response) { refused?(response) })
        end

        def refused?(response)
          response.is_a?(::HTTPX::Response) && Retrying::STATUSES.include?(response.status)
        end
      end
    end
  end
end
