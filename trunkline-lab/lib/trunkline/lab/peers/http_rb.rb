# frozen_string_literal: true

require_relative "../peer"

module Trunkline
  module Lab
    module Peers
      class HTTPrb < Peer
        label "http.rb"
        gems "http" => ">= 5.0"

        private

        def open
          require "http"
          @options = @ca_file || @insecure ? { ssl_context: trusting_context } : {}
          client = ::HTTP.timeout(connect: @timeout, read: @timeout, write: @timeout)
          client = client.follow if @follow
          @keep ? client.persistent(@base) : client
        end

        def exchange(client, call)
          options = call.body ? @options.merge(body: call.body) : @options
          response = client.request(call.verb.downcase.to_sym, @keep ? call.path : url(call), headers: call.headers,
                                                                                              **options)
          [response.code, response.body.to_s]
        end

        def pieces(client, call, &block)
          client.get(@keep ? call.path : url(call), headers: call.headers, **@options).body.each(&block)
        end

        def close(client)
          client.close if client.respond_to?(:close)
        end
      end
    end
  end
end
