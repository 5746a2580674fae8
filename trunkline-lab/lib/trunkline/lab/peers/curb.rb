# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class Curb < Peer
        label "curb"
        gems "curb" => ">= 1.0"
        speaks :http2

        HTTP2 = 4 # CURL_HTTP_VERSION_2TLS
        private_constant :HTTP2

        # Uses a multi handle; each easy handle is added to it again when its call is done.
        def many(calls, concurrency, recorder)
          multi = @multi ||= self.multi
          easies = @easies ||= []
          easies << open while easies.size < concurrency
          easies.first(concurrency).each { |easy| start(multi, easy, calls, recorder) }
          multi.perform
        end

        def timed(call)
          easy = @client ||= open
          [*exchange(easy, call), { total: easy.total_time }]
        end

        private

        def multi
          require "curb"
          ::Curl::Multi.new
        end

        def start(multi, easy, calls, recorder)
          first = calls.next or return

          easy.on_complete do |done|
            take(done, calls, recorder)
            following = calls.next
            multi.add(ready(done, following)) if following
          end
          multi.add(ready(easy, first))
        end

        def take(done, calls, recorder)
          return recorder.failed("curl error #{done.last_result}") if done.response_code.zero?

          recorder.record(done.total_time, done.response_code, calls.read(done.response_code, done.body_str.to_s))
        end

        def open
          require "curb"
          ::Curl::Easy.new.tap do |easy|
            easy.cacert = @ca_file if @ca_file
            easy.ssl_verify_peer = easy.ssl_verify_host = false if @insecure
            easy.timeout = easy.connect_timeout = @timeout
            easy.follow_location = @follow
            easy.set(:http_version, HTTP2) if @http == "h2"
          end
        end

        def ready(easy, call)
          easy.url = url(call)
          easy.headers = call.headers
          easy.post_body = call.body if call.body
          easy.head = true if call.verb == "HEAD"
          easy.set(:customrequest, call.verb)
          easy
        end

        def exchange(easy, call)
          easy.url = url(call)
          easy.headers = call.headers
          case call.verb
          when "GET" then easy.http_get
          when "POST" then easy.http_post(call.body.to_s)
          when "PUT" then easy.http_put(call.body.to_s)
          when "HEAD" then easy.http_head
          else easy.http(call.verb)
          end
          [easy.response_code, easy.body_str.to_s]
        end

        def pieces(easy, call)
          easy.url = url(call)
          easy.headers = call.headers
          easy.on_body { |bytes| (yield bytes) && bytes.bytesize }
          easy.http_get
        end

        def close(easy) = easy.close
      end
    end
  end
end
