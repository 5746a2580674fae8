# frozen_string_literal: true

require_relative "../../support/orders"
require_relative "../../support/peer"

module Bench
  module Peers
    # Faraday with its middleware for JSON on one of its adapters; each adapter has a subclass in a separate file.
    class FaradayOrders < Peer
      # (see Orders)
      def order(path, number)
        headers = Orders.headers(number)
        response = (@client ||= open).post(path, Orders.content(number), headers) do |request|
          request.params.update(Orders.params(number))
        end
        Orders.check(response.status, response.headers["content-type"], response.headers["x-request-id"], headers)
        response.body
      end

      private

      def open
        require "faraday"
        load_adapter
        ssl = @ca_file ? { ca_file: @ca_file } : {}
        ::Faraday.new(@base, request: { timeout: @timeout }, ssl: ssl) do |connection|
          connection.request :json
          connection.response :json
          connection.adapter adapter
        end
      end

      def close(connection) = connection.close
    end
  end
end
