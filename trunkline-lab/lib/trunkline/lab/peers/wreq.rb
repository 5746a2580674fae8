# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class Wreq < Peer
        label "wreq"
        gems "wreq" => ">= 1.0"
        ruby ">= 3.3"

        private

        def open
          require "wreq"
          options = { ca_file: @ca_file, verify: @insecure ? false : nil, allow_redirects: @follow || nil }.compact
          ::Wreq::Client.new(timeout: @timeout, http1_only: true, **options)
        end

        def exchange(client, call)
          options = { headers: call.headers, body: call.body }.compact
          response = client.public_send(call.verb.downcase, url(call), **options)
          [response.code, response.text]
        end
      end
    end
  end
end
