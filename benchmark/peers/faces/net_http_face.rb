# frozen_string_literal: true

require_relative "../trunkline"
require_relative "../net_http"

module Bench
  module Peers
    class NetHTTPFace < NetHTTP
      label "PersistentHttpClient"

      private

      def open
        Peers::Trunkline.load("trunkline")
        options = @ca_file ? { ca_file: @ca_file } : {}
        ::Trunkline::PersistentHttpClient.get(uri, open_timeout: @timeout, read_timeout: @timeout,
                                                   write_timeout: @timeout, proxy: nil, **options)
      end

      def close(_client) = ::Trunkline::PersistentHttpClient.clear
    end
  end
end
