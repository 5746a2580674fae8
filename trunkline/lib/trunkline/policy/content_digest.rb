# frozen_string_literal: true

require "digest"
require_relative "../digest_field"
require_relative "../errors"
require_relative "../redacted"

module Trunkline
  module Policy
    # Sends a digest with each body (RFC 9530 2), so that the receiver can check that the body is unchanged. A body that
    # is not a String is read twice: for its digest, and to be sent.
    class ContentDigest
      include Redacted

      NAME = "Content-Digest"
      ALLOWED = "true (sha-256), \"sha-256\", \"sha-512\" or false"
      private_constant :ALLOWED

      # @param value [true, String]
      # @return [ContentDigest]
      # @raise [InvalidRequest]
      def self.of(value)
        return value if value.is_a?(ContentDigest)

        algorithm = value == true ? "sha-256" : value
        raise InvalidRequest.of("content_digest", value, ALLOWED) unless DigestField::ALGORITHMS.key?(algorithm)

        new(algorithm)
      end

      # @param algorithm [String] of DigestField::ALGORITHMS
      def initialize(algorithm)
        @algorithm = algorithm
        freeze
      end

      # @param request [Request]
      # @param call [Call]
      # @yield [request] with the field added, unless the request has no content or the caller set the field
      # @return [Response]
      # @raise [InvalidRequest] when the body cannot be read twice
      def call(request, call)
        return yield request if !request.content? || request.headers[NAME]

        yield Policy.add_fields(request, [[NAME, DigestField.format(@algorithm, digest(request))]], call.builder)
      end

      private

      # @return [String] bytes
      def digest(request)
        body = request.body_string
        return DigestField::ALGORITHMS.fetch(@algorithm).digest(body) if body

        content = request.content
        unless content.repeatable?
          raise InvalidRequest, "content_digest: needs a body that can be read twice; of one that cannot be rewound, " \
                                "give the digest yourself: headers: { \"Content-Digest\" => ... }"
        end

        of_stream(content)
      end

      def of_stream(content)
        digest = DigestField::ALGORITHMS.fetch(@algorithm).new
        while (chunk = content.next_chunk)
          digest << chunk
        end
        digest.digest
      ensure
        content.rewind
      end
    end
  end
end
