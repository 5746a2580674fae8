# frozen_string_literal: true

require "digest"

module Trunkline
  # The fields that carry digests (RFC 9530): Content-Digest, Repr-Digest. They are Dictionaries of Byte Sequences
  # (RFC 9651 3.2, 3.3.5).
  #
  # @api private
  module DigestField
    # The algorithms that RFC 9530 5 calls active, the strongest first.
    ALGORITHMS = { "sha-512" => Digest::SHA512, "sha-256" => Digest::SHA256 }.freeze

    MEMBER = %r{
      [ \t]* (?<key>[a-z*][a-z0-9_.*-]*) = :(?<base64>[A-Za-z0-9+/]*={0,2}): (?<parameters>(?:;[^;,"]*|"[^"]*")*)
      [ \t]* (?:,|\z)
    }x
    private_constant :MEMBER

    module_function

    # @param field [String, nil]
    # @return [Hash{String => String}] digests, as bytes, by algorithm; {} for a malformed field, which must be ignored
    #   (RFC 9651 4.2)
    def parse(field)
      digests = {}
      at = 0
      text = field.to_s
      while at < text.length
        match = MEMBER.match(text, at)
        return {} unless match && match.begin(0) == at

        digests[match[:key]] = match[:base64].unpack1("m")
        at = match.end(0)
      end
      text.match?(/,[ \t]*\z/) ? {} : digests
    end

    # @param algorithm [String] a key of ALGORITHMS
    # @param digest [String] bytes
    # @return [String]
    def format(algorithm, digest)
      "#{algorithm}=:#{[digest].pack("m0")}:"
    end

    # @param digests [Hash{String => String}] as returned by #parse
    # @return [Array(String, String), nil] the strongest of ALGORITHMS among them, and its digest
    def strongest(digests)
      ALGORITHMS.each_key { |algorithm| return [algorithm, digests[algorithm]] if digests.key?(algorithm) }
      nil
    end
  end
end
