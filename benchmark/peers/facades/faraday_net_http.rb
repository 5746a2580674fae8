# frozen_string_literal: true

require_relative "faraday"

module Bench
  module Peers
    class FaradayNetHTTP < Faraday
      label "Faraday with :net_http"
      gems "faraday" => "~> 2.14", "faraday-net_http" => "~> 3.4"

      private

      def adapter = :net_http

      def load_adapter = require("faraday/net_http")
    end
  end
end
