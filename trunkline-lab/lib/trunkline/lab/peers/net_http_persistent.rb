# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class NetHTTPPersistent < Peer
        label "net-http-persistent"
        gems "net-http-persistent" => "~> 4.0"
        lacks :redirects

        private

        def open
          require "net/http/persistent"
          Net::HTTP::Persistent.new.tap do |http|
            http.ca_file = @ca_file if @ca_file
            http.verify_mode = OpenSSL::SSL::VERIFY_NONE if @insecure
            http.open_timeout = http.read_timeout = http.write_timeout = @timeout
            http.idle_timeout = 60
          end
        end

        def exchange(client, call)
          request = Net::HTTP.const_get(call.verb.capitalize).new(call.path, call.headers)
          request.body = call.body if call.body
          response = client.request(URI(url(call)), request)
          [response.code.to_i, response.body.to_s]
        end

        def pieces(client, call, &block)
          request = Net::HTTP::Get.new(call.path, call.headers)
          client.request(URI(url(call)), request) { |response| response.read_body(&block) }
        end

        def close(client) = client.shutdown
      end
    end
  end
end
