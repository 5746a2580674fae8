# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class HTTPClient < Peer
        label "httpclient"
        gems "httpclient" => ">= 2.9"

        private

        def open
          require "httpclient"
          ::HTTPClient.new.tap do |client|
            client.ssl_config.set_trust_ca(@ca_file) if @ca_file
            client.ssl_config.verify_mode = OpenSSL::SSL::VERIFY_NONE if @insecure
            client.connect_timeout = client.send_timeout = client.receive_timeout = @timeout
            client.keep_alive_timeout = 60
          end
        end

        def exchange(client, call)
          response = client.request(call.verb, url(call), body: call.body, header: call.headers,
                                                          follow_redirect: @follow)
          [response.status, response.body.to_s]
        end

        def pieces(client, call, &block)
          client.get_content(url(call), header: call.headers, &block)
        end

        def close(client) = client.reset_all
      end
    end
  end
end
