# frozen_string_literal: true

require_relative "../../support/peer"

module Bench
  module Peers
    # Faraday on one of its adapters, which #adapter names; each adapter has a subclass in a separate file.
    class Faraday < Peer
      private

      def open
        require "faraday"
        load_adapter
        ssl = @ca_file ? { ca_file: @ca_file } : {}
        ::Faraday.new(@base, request: { timeout: @timeout }, ssl: ssl) { |connection| connection.adapter adapter }
      end

      def fetch(connection, path)
        response = connection.get(path)
        body_of(response.status, response.body)
      end

      def close(connection) = connection.close
    end
  end
end
