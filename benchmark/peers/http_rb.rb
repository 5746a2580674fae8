# frozen_string_literal: true

module Bench
  module Peers
    class HTTPrb < Peer
      label "http.rb"
      gems "http" => ">= 5.0"

      private

      def open
        require "http"
        @options = {}
        @options[:ssl_context] = trusting_context if @ca_file
        client = ::HTTP.timeout(connect: @timeout, read: @timeout, write: @timeout)
        @keep ? client.persistent(@base) : client
      end

      def trusting_context
        OpenSSL::SSL::SSLContext.new.tap { |context| context.set_params(ca_file: @ca_file) }
      end

      def fetch(client, path)
        response = client.get(@keep ? path : "#{@base}#{path}", **@options)
        body_of(response.code, response.body.to_s)
      end

      def close(client)
        client.close if client.respond_to?(:close)
      end
    end
  end
end
