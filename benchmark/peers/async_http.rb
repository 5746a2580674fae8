# frozen_string_literal: true

module Bench
  module Peers
    class AsyncHTTP < Peer
      label "async-http"
      gems "async-http" => ">= 0.80"

      def session(&block)
        require "async"
        require "async/http/internet"
        Sync do
          block.call
        ensure
          finish
        end
      end

      # One task for each in flight: less than one for each request.
      def list(path, count, at_once)
        client = @client ||= open
        left = count
        tasks = Array.new(at_once) do
          ::Async::Task.current.async do
            while left.positive?
              left -= 1
              yield fetch(client, path)
            end
          end
        end
        tasks.each(&:wait)
      end

      private

      def open
        ::Async::HTTP::Client.new(::Async::HTTP::Endpoint.parse(@base, **tls_options))
      end

      def tls_options
        return {} unless @ca_file

        context = OpenSSL::SSL::SSLContext.new.tap { |tls| tls.set_params(ca_file: @ca_file) }
        { ssl_context: context, alpn_protocols: ["http/1.1"] }
      end

      def fetch(client, path)
        ::Async::Task.current.with_timeout(@timeout) do
          response = client.get(path)
          body_of(response.status, response.read)
        end
      end

      def close(client) = client.close
    end
  end
end
