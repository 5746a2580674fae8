# frozen_string_literal: true

module Trunkline
  module Lab
    module Peers
      class Curb < Peer
        label "curb"
        gems "curb" => ">= 1.0"

        private

        def open
          require "curb"
          ::Curl::Easy.new.tap do |easy|
            easy.cacert = @ca_file if @ca_file
            easy.ssl_verify_peer = easy.ssl_verify_host = false if @insecure
            easy.timeout = easy.connect_timeout = @timeout
            easy.follow_location = @follow
          end
        end

        def exchange(easy, call)
          easy.url = url(call)
          easy.headers = call.headers
          case call.verb
          when "GET" then easy.http_get
          when "POST" then easy.http_post(call.body.to_s)
          when "PUT" then easy.http_put(call.body.to_s)
          else easy.http(call.verb)
          end
          [easy.response_code, easy.body_str.to_s]
        end

        def close(easy) = easy.close
      end
    end
  end
end
