# frozen_string_literal: true

require_relative "faraday_orders"

module Bench
  module Peers
    # What Faraday and its middleware take, whatever adapter they have: this one sends the first order alone, and gives
    # its answer to all others.
    class FaradayOrdersAlone < FaradayOrders
      label "Faraday with JSON, nothing sent"
      gems "faraday" => "~> 2.14"

      ID = "X-Request-Id"
      private_constant :ID

      # What an adapter that replays does; Faraday's class of adapters is there when the peer is opened.
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
