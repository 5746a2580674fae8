# frozen_string_literal: true

module Bench
  module Peers
    class Wreq < Peer
      THREADS = 10

      label "wreq"
      gems "wreq" => ">= 1.0"
      ruby ">= 3.3"

      # It has no other way to do many at once.
      def list(path, count, _at_once, &block)
        client = @client ||= open
        threads = Array.new(THREADS) { Thread.new { Array.new(count / THREADS) { fetch(client, path) } } }
        threads.flat_map(&:value).each(&block)
      end

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
