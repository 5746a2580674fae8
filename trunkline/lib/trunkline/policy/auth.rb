# frozen_string_literal: true

require_relative "../errors"
require_relative "../headers"
require_relative "../redacted"
require_relative "redirect"

module Trunkline
  module Policy
    # Signs each request of a call, and answers the challenges of its origin (RFC 9110 11), by an object with
    #
    #   sign(request)         -> Hash of header fields to lay over the request's, or nil; called before each request
    #   retry?(response)  -> true to sign and send the request again, false to leave the 401 to the caller
    #
    # Requests to other origins, where a redirect may lead, are sent without it.
    class Auth
      include Redacted

      # How often a call may be challenged: once to learn the nonce, once because it had grown old.
      CHALLENGES = 2

      # @param signer [#sign, #retry?]
      # @param origin [String] whose credentials they are
      # @param composer [Composer]
      def initialize(signer, origin, composer)
        @signer = signer
        @origin = origin
        @composer = composer
      end

      # @param plan [Composer::Plan]
      # @yield [plan] performs it and returns its Response
      # @return [Response] whose #challenges are the answers that asked for a signature
      # @raise [AuthError]
      def call(plan)
        return yield plan unless plan.request.uri.origin == @origin

        passed = []
        loop do
          response = yield signed(plan)
          return accepted(response, passed) unless response.status == 401
          return response._challenged(passed) unless passed.size < CHALLENGES && @signer.retry?(response)

          rewind(plan.content, response)
          passed << response._discard
        end
      end

      private

      def accepted(response, passed)
        @signer.accepted(response) if @signer.is_a?(Digest)
        response._challenged(passed)
      end

      def signed(plan)
        signature = @signer.sign(plan.request)
        signature.nil? || signature.empty? ? plan : Policy.dress(plan, Headers.pairs(signature), @composer)
      end

      def rewind(content, response)
        return content.rewind if content.rewindable?

        response.close
        raise AuthError.about(response, "was answered #{response.status} and would have to be sent again, but its " \
                                        "body was streamed and cannot be rewound; the server has the whole request")
      end
    end
  end
end
