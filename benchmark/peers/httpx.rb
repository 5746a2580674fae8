# frozen_string_literal: true

module Bench
  module Peers
    class HTTPX < Peer
      label "httpx"
      gems "httpx" => ">= 1.0"

      private

      def open
        require "set" # httpx expects it to be there, as it is from Ruby 3.2 on
        require "httpx"
        session = ::HTTPX.with(origin: @base, timeout: { connect_timeout: @timeout, request_timeout: @timeout })
        session = session.with(ssl: { ca_file: @ca_file }) if @ca_file
        @keep ? session.plugin(:persistent) : session
      end

      def fetch(session, path)
        response = session.get(path)
        response.raise_for_status
        body_of(response.status, response.body.to_s)
      end

      def close(session)
        session.close if session.respond_to?(:close)
      end
    end
  end
end
