# frozen_string_literal: true

module Bench
  module Peers
    class Wreq < Peer
      label "wreq"
      gems "wreq" => ">= 1.0"
      ruby ">= 3.3"

      private

      def open
        require "wreq"
        options = @ca_file ? { ca_file: @ca_file } : {}
        ::Wreq::Client.new(timeout: @timeout, http1_only: true, **options)
      end

      def fetch(client, path)
        response = client.get("#{@base}#{path}")
        body_of(response.code, response.text)
      end
    end
  end
end
