# frozen_string_literal: true

module Bench
  module Peers
    class NetHTTPPersistent < Peer
      label "net-http-persistent"
      gems "net-http-persistent" => "~> 4.0"

      private

      def open
        require "net/http/persistent"
        Net::HTTP::Persistent.new.tap do |http|
          http.ca_file = @ca_file if @ca_file
          http.open_timeout = http.read_timeout = http.write_timeout = @timeout
          http.idle_timeout = 60
        end
      end

      def fetch(client, path)
        response = client.request(URI("#{@base}#{path}"))
        body_of(response.code.to_i, response.body)
      end

      def close(client) = client.shutdown
    end
  end
end
