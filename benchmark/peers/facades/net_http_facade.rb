# frozen_string_literal: true

require "trunkline/lab/peers/net_http"

module Bench
  module Peers
    class NetHTTPFacade < ::Trunkline::Lab::Peers::NetHTTP
      label "PersistentHttpClient"
      local_gems "trunkline"

      private

      def open
        require "trunkline"
        options = @ca_file ? { ca_file: @ca_file } : {}
        ::Trunkline::PersistentHttpClient.get(uri, open_timeout: @timeout, read_timeout: @timeout,
                                                   write_timeout: @timeout, proxy: nil, **options)
      end

      def close(_client) = ::Trunkline::PersistentHttpClient.clear
    end
  end
end
