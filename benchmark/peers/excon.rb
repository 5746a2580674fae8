# frozen_string_literal: true

module Bench
  module Peers
    class Excon < Peer
      label "Excon"
      gems "excon" => ">= 1.0"

      private

      def open
        require "excon"
        options = { persistent: @keep, connect_timeout: @timeout, read_timeout: @timeout, write_timeout: @timeout }
        options[:ssl_ca_file] = @ca_file if @ca_file
        ::Excon.new(@base, options)
      end

      def fetch(client, path)
        response = client.get(path: path)
        body_of(response.status, response.body)
      end

      def close(client) = client.reset
    end
  end
end
