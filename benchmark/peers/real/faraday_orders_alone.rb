# frozen_string_literal: true

require_relative "faraday_orders"

module Bench
  module Peers
    # The cost of Faraday and its middleware with any adapter: this peer sends only the first order, and returns its
    # response for all others.
    class FaradayOrdersAlone < FaradayOrders
      label "Faraday with JSON, nothing sent"
      gems "faraday" => "~> 2.14"

      ID = "X-Request-Id"
      private_constant :ID

      # The methods of an adapter that replays one response. This is a module because Faraday's adapter class is loaded
      # only when the peer is opened.
      module Replaying
        def call(env)
          super
          status, body, headers = @answer ||= ask(env)
          save_response(env, status, body.dup, headers.merge(ID => env.request_headers[ID]))
          @app.call(env)
        end

        private

        def ask(env)
          response = Net::HTTP.post(env.url, env.body, env.request_headers)
          [response.code.to_i, response.body, response.each_capitalized.to_h]
        end
      end
      private_constant :Replaying

      private

      def adapter = :replaying

      def load_adapter
        require "net/http"
        ::Faraday::Adapter.register_middleware(replaying: Class.new(::Faraday::Adapter) { include Replaying })
      end
    end
  end
end
