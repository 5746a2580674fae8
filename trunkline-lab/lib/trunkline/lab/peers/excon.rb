# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class Excon < Peer
        label "Excon"
        gems "excon" => ">= 1.0"

        private

        def open
          require "excon"
          options = { persistent: @keep, connect_timeout: @timeout, read_timeout: @timeout, write_timeout: @timeout,
                      ssl_verify_peer: !@insecure, ssl_ca_file: @ca_file }.compact
          options[:middlewares] = ::Excon.defaults[:middlewares] + [::Excon::Middleware::RedirectFollower] if @follow
          ::Excon.new(@base, options)
        end

        def exchange(client, call)
          path, query = call.path.split("?", 2)
          response = client.request({ method: call.verb, path: path, query: query, headers: call.headers,
                                      body: call.body }.compact)
          [response.status, response.body]
        end

        def pieces(client, call)
          client.get(path: call.path, headers: call.headers, response_block: ->(bytes, *) { yield bytes })
        end

        def close(client) = client.reset
      end
    end
  end
end
