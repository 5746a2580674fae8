# frozen_string_literal: true

require_relative "../errors"
require_relative "../headers"
require_relative "../redacted"
require_relative "redirect"

module Trunkline
  module Policy
    # Signs each request of a call and answers the challenges of its origin (RFC 9110 11), with an object (the signer)
    # that has
    #
    #   sign(request)     -> Hash of header fields to merge into the request's, or nil; called before each request
    #   retry?(response)  -> true to sign and send the request again, false to return the 401 to the caller
    #
    # Each of the two methods may take the Call as its second argument; Call#sleep and Call#wait do not block other
    # calls.
    #
    # Requests to other origins, to which a redirect may lead, are sent unsigned.
    class Auth
      include Redacted

      # Maximum number of challenges per call: one to learn the nonce, one because the nonce had expired.
      CHALLENGES = 2
      # When this process began. It distinguishes processes that had the same process id.
      START = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      private_constant :START

      # @param signer [#sign, #retry?]
      # @param origin [String, nil] the origin that the credentials are for; nil for the origin of each call's URL
      # @param builder [RequestBuilder]
      # @param values [FieldValues, nil] adds the caller's computed fields to each request before it is signed
      def initialize(signer, origin, builder, values = nil)
        @signer = signer
        @origin = origin
        @builder = builder
        @values = values
        @sign = with_call(:sign)
        @retry = with_call(:retry?)
      end

      # @return [String] identifies the signer; unique among processes
      def name = "#{Process.pid}-#{START}-#{@signer.object_id}"

      # @param request [Request] as it was built
      # @return [Request] with the fields that the caller computes for it
      def fill(request) = @values ? @values.fill(request) : request

      # @param request [Request]
      # @param call [Call] whose log loses the attempts that a challenge answered
      # @yield [request] sends the request and returns its Response
      # @return [Response] whose #challenges are the 401 responses before it
      # @raise [AuthError]
      def call(request, call)
        return yield fill(request) unless request.uri.origin == (@origin || call.request.uri.origin)

        challenges = []
        loop do
          tries = call.tries
          response = yield signed(request, call)
          return finish(response, challenges) unless response.status == 401
          return response._set_challenges(challenges) unless challenges.size < CHALLENGES && again?(response, call)

          rewind(request, response)
          challenges << response._discard
          call.truncate_log(tries)
        end
      end

      private

      def finish(response, challenges)
        @signer.on_success(response) if @signer.is_a?(Digest)
        response._set_challenges(challenges)
      end

      # @return [#call] the signer's method, wrapped to take two arguments
      def with_call(name)
        method = @signer.method(name)
        method.arity == 2 ? method : ->(about, _call) { method.call(about) }
      end

      def signed(request, call)
        request = fill(request)
        signature = @sign.call(request, call)
        return request if signature.nil? || signature.empty?

        Policy.add_fields(request, Headers.pairs(signature), @builder)
      end

      # Closes the response when the signer raises, since no other code closes it.
      def again?(response, call)
        again = @retry.call(response, call)
        decided = true
        again
      ensure
        response.close unless decided
      end

      def rewind(request, response)
        return request.rewind if request.rewindable?

        response.close
        raise AuthError.about(response, "was answered #{response.status} and would have to be sent again, but its " \
                                        "body was streamed and cannot be rewound; the server has the whole request")
      end
    end
  end
end
