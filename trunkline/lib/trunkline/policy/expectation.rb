# frozen_string_literal: true

require_relative "../redacted"
require_relative "redirect"

module Trunkline
  module Policy
    # Sends a request again without Expect when the server answers 417 (RFC 9110 10.1.1). If any of the body was sent,
    # the 417 is returned instead, because the body must not be sent twice.
    class Expectation
      include Redacted

      # @param builder [RequestBuilder]
      def initialize(builder)
        @builder = builder
        freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] sends the request and returns its Response
      # @return [Response]
      def call(request, call)
        response = yield request
        return response unless response.status == 417 && request.headers["expect"] && !response._body_begun?

        response._discard
        call.reason = :without_expect
        yield without_expect(request)
      end

      private

      def without_expect(request)
        fields = Redirect.next_fields(request.headers, same_origin: true, same_method: true)
        Policy.replace_fields(request, fields << ["Expect", nil], @builder)
      end
    end
  end
end
