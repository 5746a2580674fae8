# frozen_string_literal: true

module Bench
  module Peers
    class NetHTTP < Peer
      label "Net::HTTP"

      private

      def open
        require "net/http"
        http = Net::HTTP.new(uri.host, uri.port)
        http.use_ssl = uri.scheme == "https"
        http.ca_file = @ca_file
        http.open_timeout = http.read_timeout = http.write_timeout = @timeout
        http.keep_alive_timeout = 60
        http.start
      end

      def fetch(client, path)
        response = client.get(path)
        body_of(response.code.to_i, response.body)
      end

      def close(client) = client.finish
    end
  end
end
