# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class NetHTTP < Peer
        label "Net::HTTP"
        lacks :redirects

        private

        def open
          require "net/http"
          http = Net::HTTP.new(uri.host, uri.port)
          http.use_ssl = uri.scheme == "https"
          http.ca_file = @ca_file
          http.verify_mode = OpenSSL::SSL::VERIFY_NONE if @insecure
          http.open_timeout = http.read_timeout = http.write_timeout = @timeout
          http.keep_alive_timeout = 60
          http
        end

        # The session is started within the first call, so that a stalled connect is part of the call.
        def exchange(client, call)
          client.start unless client.started?
          request = Net::HTTP.const_get(call.verb.capitalize).new(call.path, call.headers)
          request.body = call.body if call.body
          response = client.request(request)
          [response.code.to_i, response.body.to_s]
        end

        def pieces(client, call, &block)
          client.start
          client.request(Net::HTTP::Get.new(call.path, call.headers)) { |response| response.read_body(&block) }
        end

        def close(client)
          client.finish if client.started?
        end
      end
    end
  end
end
