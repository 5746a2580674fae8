# frozen_string_literal: true

require "webmock"
require_relative "../../../trunkline" unless defined?(Trunkline::Client)
require_relative "../../interception"

module WebMock
  module HttpLibAdapters
    # Lets WebMock (and libraries built on it, such as VCR) record and stub every call of Trunkline's clients, batches
    # and facades. Loaded when a client is made, or a facade first used, after WebMock; otherwise by
    # require "trunkline/webmock".
    #
    # to_timeout raises Trunkline::TotalTimeout. The caller gets the body of a stub as it is, without decoding.
    class TrunklineAdapter < HttpLibAdapter
      adapter_for :trunkline

      class << self
        def enable!
          ::Trunkline::Interception.add(self)
        end

        def disable!
          ::Trunkline::Interception.remove(self)
        end

        # Returns true for Net::HTTP, because WebMock's own adapter sees its requests.
        # @api private
        def hooks?(library) = library == :net_http

        # @api private
        # @return [Trunkline::Interception::Answer, #call, nil] see Trunkline::Interception
        def intercept(request, body)
          signature = signature(request, body)
          RequestRegistry.instance.requested_signatures.put(signature)
          stub = StubRegistry.instance.response_for_request(signature)
          return stub_response(request, signature, stub) if stub
          raise NetConnectNotAllowedError, signature unless WebMock.net_connect_allowed?(signature.uri)

          report_real_response(signature) if CallbackRegistry.any_callbacks?
        end

        # Enables the adapter if WebMock was enabled before the adapter was loaded.
        # @api private
        def enable_if_webmock_is
          enable! unless ::Net::HTTP.equal?(NetHttpAdapter::OriginalNetHTTP)
        end

        private

        def signature(request, body)
          RequestSignature.new(request.method.downcase.to_sym, request.url,
                               body: body, headers: grouped(request.headers))
        end

        def stub_response(request, signature, stub)
          return ::Trunkline::Interception::Answer.new(nil, timeout(request)) if stub.should_timeout

          stub.raise_error_if_any
          status, reason = stub.status
          response = ::Trunkline::Interception::Answer.of(request, status: Integer(status), reason: reason,
                                                                   headers: stub.headers || {}, body: stub.body)
          CallbackRegistry.invoke_callbacks({ lib: :trunkline }, signature, stub)
          response
        end

        def timeout(request)
          ::Trunkline::Engine.failure(:TotalTimeout, request: request, label: request.uri.label, phase: :first_byte,
                                                     elapsed: 0.0, attempt: 1, sent: :all,
                                                     words: "the time was over, as a stub has it")
        end

        # @return [Proc] called with the response of a request that was sent
        def report_real_response(signature)
          lambda do |response|
            seen = Response.new(status: [response.status, response.reason], headers: grouped(response.headers),
                                body: response.body.dup)
            CallbackRegistry.invoke_callbacks({ lib: :trunkline, real_request: true }, signature, seen)
          end
        end

        # @return [Hash{String => String, Array<String>}]
        def grouped(headers)
          headers.names.to_h do |name|
            values = headers.get_all(name)
            [name, values.size > 1 ? values : values.first]
          end
        end
      end
    end
  end
end

WebMock::HttpLibAdapters::TrunklineAdapter.enable_if_webmock_is
