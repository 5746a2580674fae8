# frozen_string_literal: true

module Bench
  module Peers
    class HTTPClient < Peer
      label "httpclient"
      gems "httpclient" => ">= 2.9"

      private

      def open
        require "httpclient"
        ::HTTPClient.new.tap do |client|
          client.ssl_config.set_trust_ca(@ca_file) if @ca_file
          client.connect_timeout = client.send_timeout = client.receive_timeout = @timeout
          client.keep_alive_timeout = 60
        end
      end

      def fetch(client, path)
        response = client.get("#{@base}#{path}")
        body_of(response.status, response.body)
      end

      def close(client) = client.reset_all
    end
  end
end
