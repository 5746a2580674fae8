# frozen_string_literal: true

require "digest"
require_relative "../digest_field"
require_relative "../errors"

module Trunkline
  class Download
    # The digest that the caller expects of a file.
    #
    # @api private
    class Checksum
      ALGORITHMS = { **DigestField::ALGORITHMS, "sha-384" => Digest::SHA384, "sha-1" => Digest::SHA1,
                                                "md5" => Digest::MD5 }.freeze
      ALLOWED = "a digest in hexadecimal behind the name of its algorithm, such as \"sha-256:9f86d0...\" " \
                "(#{ALGORITHMS.keys.join(", ")})".freeze

      # @param text [String, nil]
      # @return [Checksum, nil]
      # @raise [InvalidRequest]
      def self.of(text)
        return if text.nil?

        algorithm, hex = text.downcase.split(":", 2) if text.is_a?(String)
        digest = ALGORITHMS[algorithm]
        unless digest && hex&.match?(/\A\h{#{digest.new.digest_length * 2}}\z/)
          raise InvalidRequest.of("checksum", text, ALLOWED)
        end

        new(algorithm, [hex].pack("H*"))
      end

      attr_reader :algorithm

      # @param algorithm [String] of ALGORITHMS
      # @param expected [String] bytes
      def initialize(algorithm, expected)
        @algorithm = algorithm
        @expected = expected
      end

      # @param io [IO]
      # @return [String, nil] the actual digest in hexadecimal, if it is not the expected one
      def mismatch(io)
        digest = ALGORITHMS.fetch(@algorithm).new
        buffer = +""
        digest << buffer while io.read(1 << 20, buffer)
        digest.digest == @expected ? nil : digest.hexdigest
      end

      def to_s = @expected.unpack1("H*")
    end
  end
end
