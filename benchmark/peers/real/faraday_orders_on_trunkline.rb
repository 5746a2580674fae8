# frozen_string_literal: true

require_relative "faraday_orders"

module Bench
  module Peers
    class FaradayOrdersOnTrunkline < FaradayOrders
      label "Faraday with JSON on :trunkline"
      gems "faraday" => "~> 2.14"
      local_gems "trunkline"

      private

      def adapter = :trunkline

      def load_adapter = require("trunkline/faraday")
    end
  end
end
