# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class HTTPX < Peer
        label "httpx"
        gems "httpx" => ">= 1.0"
        speaks :http2

        private

        def open
          require "set" # httpx expects Set to be loaded, as it is in Ruby 3.2 and newer
          require "httpx"
          session = ::HTTPX.with(origin: @base, timeout: { connect_timeout: @timeout, request_timeout: @timeout })
          session = session.with(ssl: { ca_file: @ca_file }) if @ca_file
          session = session.with(ssl: { verify_mode: OpenSSL::SSL::VERIFY_NONE }) if @insecure
          session = session.plugin(:follow_redirects) if @follow
          @keep ? persistent(session) : session
        end

        def persistent(session) = session.plugin(:persistent)

        def exchange(session, call)
          response = session.request(call.verb, call.path, headers: call.headers, body: call.body)
          raise response.error if response.is_a?(::HTTPX::ErrorResponse)

          [response.status, response.body.to_s]
        end

        def pieces(session, call, &block)
          session.plugin(:stream).get(call.path, headers: call.headers, stream: true).each(&block)
        end

        def close(session)
          session.close if session.respond_to?(:close)
        end
      end
    end
  end
end
