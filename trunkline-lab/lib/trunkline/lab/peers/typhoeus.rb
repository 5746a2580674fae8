# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class Typhoeus < Peer
        label "Typhoeus"
        gems "typhoeus" => ">= 1.7", "ethon" => ">= 0.19"
        speaks :http2

        # Uses Hydra as its users chain requests: each request queues the next one when it is done.
        def many(calls, concurrency, recorder)
          @hydra ||= {}
          hydra = @hydra[concurrency] ||= ::Typhoeus::Hydra.new(max_concurrency: concurrency)
          concurrency.times { queue(hydra, calls, recorder) }
          hydra.run
        end

        def timed(call)
          response = request(@client ||= open, call).run
          [response.code, response.body, { total: response.total_time }]
        end

        private

        # Typhoeus keeps its handles, and so their connections, in a pool of the process, so there is no client to open.
        def open
          load_client
          { timeout: @timeout, connecttimeout: @timeout, forbid_reuse: !@keep, followlocation: @follow,
            cainfo: @ca_file, ssl_verifypeer: !@insecure, ssl_verifyhost: @insecure ? 0 : 2,
            http_version: @http == "h2" ? :httpv2_tls : nil }.compact
        end

        def load_client
          require "set" # ethon expects Set to be loaded, as it is in Ruby 3.2 and newer
          require "typhoeus"
        end

        def exchange(options, call)
          response = request(options, call).run
          raise "#{response.return_code} without an exception" if response.return_code != :ok

          [response.code, response.body]
        end

        def request(options, call)
          ::Typhoeus::Request.new(url(call), method: call.verb.downcase.to_sym, headers: call.headers, body: call.body,
                                             **options)
        end

        def queue(hydra, calls, recorder)
          call = calls.next or return
          request = request(@options ||= open, call)
          request.on_complete do |response|
            if response.return_code == :ok
              recorder.record(response.total_time, response.code, calls.read(response.code, response.body))
            else
              recorder.failed(response.return_code.to_s)
            end
            queue(hydra, calls, recorder)
          end
          hydra.queue(request)
        end

        def pieces(options, call, &block)
          request = request(options, call)
          request.on_body(&block)
          request.run
        end

        def close(_options) = ::Typhoeus::Pool.clear
      end
    end
  end
end
