# frozen_string_literal: true

require_relative "faraday"

module Bench
  module Peers
    class FaradayPersistent < Faraday
      label "Faraday with :net_http_persistent"
      gems "faraday" => "~> 2.14", "faraday-net_http_persistent" => "~> 2.3", "net-http-persistent" => "~> 4.0"

      private

      def adapter = :net_http_persistent

      def load_adapter = require("faraday/net_http_persistent")
    end
  end
end
