# frozen_string_literal: true

require "webmock"
require_relative "../trunkline" unless defined?(Trunkline::Client)
require_relative "interception"

module WebMock
  module HttpLibAdapters
    # Makes WebMock (and what is built on it, such as VCR) see and answer every call of Trunkline: of its clients,
    # batches and faces. Loaded by itself when a client is made, or a face first used, while WebMock is there; else it
    # takes require "trunkline/webmock".
    #
    # to_timeout raises Trunkline::TotalTimeout; bodies of stubs are what the caller gets, no coding is undone.
    class TrunklineAdapter < HttpLibAdapter
      adapter_for :trunkline

      class << self
        def enable!
          ::Trunkline::Interception.add(self)
        end

        def disable!
          ::Trunkline::Interception.remove(self)
        end

        # @api private See Trunkline::Interception.
        def intercept(request, body)
          signature = signature(request, body)
          RequestRegistry.instance.requested_signatures.put(signature)
          stub = StubRegistry.instance.response_for_request(signature)
          return stubbed(request, signature, stub) if stub
          raise NetConnectNotAllowedError, signature unless WebMock.net_connect_allowed?(signature.uri)

          real(signature) if CallbackRegistry.any_callbacks?
        end

        # WebMock was enabled before it knew of this adapter.
        # @api private
        def catch_up
          enable! unless ::Net::HTTP.equal?(NetHttpAdapter::OriginalNetHTTP)
        end

        private

        def signature(request, body)
          RequestSignature.new(request.method.downcase.to_sym, request.url,
                               body: body, headers: grouped(request.headers))
        end

        def stubbed(request, signature, stub)
          return ::Trunkline::Interception::Answer.new(nil, timeout(request)) if stub.should_timeout

          stub.raise_error_if_any
          status, reason = stub.status
          answer = ::Trunkline::Interception::Answer.of(request, status: Integer(status), reason: reason,
                                                                 headers: stub.headers || {}, body: stub.body)
          CallbackRegistry.invoke_callbacks({ lib: :trunkline }, signature, stub)
          answer
        end

        def timeout(request)
          ::Trunkline::Engine.failure(:TotalTimeout, request: request, label: request.uri.label, phase: :first_byte,
                                                     elapsed: 0.0, attempt: 1, sent: :all,
                                                     words: "the time was over, as a stub has it")
        end

        # Told of the answer to a call that was let through.
        def real(signature)
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

WebMock::HttpLibAdapters::TrunklineAdapter.catch_up
