# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class AsyncHTTP < Peer
        label "async-http"
        gems "async-http" => ">= 0.80"
        lacks :redirects, :fork
        speaks :http2

        # Connections belong to the reactor that opened them, and are closed with the reactor.
        def session(&block)
          require "async"
          require "async/http/internet"
          Sync do
            block.call
          ensure
            finish
          end
        end

        def prepare
          require "async"
          require "async/http/internet"
        end

        def many(calls, concurrency, recorder)
          @client ||= open
          fibers = Array.new(concurrency) do
            ::Async::Task.current.async { make(@client, calls, recorder) }
          end
          fibers.each(&:wait)
        end

        private

        def open
          tls = @ca_file || @insecure ? { ssl_context: negotiating_context } : {}
          ::Async::HTTP::Client.new(::Async::HTTP::Endpoint.parse(@base, **tls))
        end

        def negotiating_context
          trusting_context.tap { |context| context.alpn_protocols = [@http == "h2" ? "h2" : "http/1.1"] }
        end

        def exchange(client, call)
          ::Async::Task.current.with_timeout(@timeout) do
            response = client.public_send(call.verb.downcase, call.path, call.headers.to_a, call.body)
            [response.status, response.read.to_s]
          end
        end

        # Runs in a separate thread, with a separate event loop.
        def pieces(client, call, &block)
          Sync { client.get(call.path, call.headers.to_a).body.each(&block) }
        end

        def close(client) = client.close
      end
    end
  end
end
