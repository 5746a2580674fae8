# frozen_string_literal: true

require_relative "../../peer"
require_relative "../../retrying"

module Trunkline
  module Lab
    module Peers
      # Faraday with its default adapter. The retry middleware does not retry broken connections by default.
      class FaradayRetry < Peer
        label "Faraday, faraday-retry"
        gems "faraday" => "~> 2.0", "faraday-retry" => "~> 2.0"

        private

        def open
          require "faraday"
          require "faraday/retry"
          options = { request: { timeout: @timeout }, ssl: { ca_file: @ca_file, verify: !@insecure }.compact }
          ::Faraday.new(@base, **options) do |faraday|
            faraday.request :retry, **retries
            faraday.adapter :net_http
          end
        end

        def retries
          { max: Retrying::ATTEMPTS - 1, interval: Retrying::PAUSE, interval_randomness: 0.5, backoff_factor: 2,
            max_interval: Retrying::LONGEST_PAUSE, retry_statuses: Retrying::STATUSES,
            exceptions: [*::Faraday::Retry::Middleware::DEFAULT_EXCEPTIONS, ::Faraday::ConnectionFailed] }
        end

        def exchange(connection, call)
          response = connection.run_request(call.verb.downcase.to_sym, call.path, call.body, call.headers)
          [response.status, response.body.to_s]
        end

        def close(connection) = connection.close
      end
    end
  end
end
