# frozen_string_literal: true

require "trunkline/lab/peers/net_http"
require_relative "../support/orders"

module Bench
  module Peers
    class NetHTTP < ::Trunkline::Lab::Peers::NetHTTP
      # (see Orders)
      def order(path, number)
        http = started(@client ||= open)
        headers = Orders.headers(number)
        request = Net::HTTP::Post.new("#{path}?#{URI.encode_www_form(Orders.params(number))}", headers)
        request.content_type = "application/json"
        request.body = JSON.generate(Orders.content(number))
        response = http.request(request)
        Orders.check(response.code.to_i, response["content-type"], response["x-request-id"], headers)
        JSON.parse(response.body)
      end

      private

      def started(http) = http.started? ? http : http.start
    end
  end
end
