# frozen_string_literal: true

require "securerandom"
require_relative "../../comma_list"
require_relative "../../redacted"

module Trunkline
  module Policy
    class Cache
      # The names of the fields by which the responses of a URL vary, stored under the key of the URL. The responses are
      # stored under keys that hold the values of these fields and the token, so they cannot be found after this list is
      # lost. Frozen.
      class Variants
        include Redacted

        # @return [Array<String>] names in lower case, sorted
        attr_reader :names
        # @return [String]
        attr_reader :token

        # @param vary [String] the field Vary of a response
        # @return [Array<String>]
        def self.names(vary) = CommaList.parse(vary.downcase).uniq.sort

        # @param names [Array<String>]
        # @param token [String]
        def initialize(names, token = SecureRandom.alphanumeric(16))
          @names = names.map(&:freeze).freeze
          @token = token.freeze
          freeze
        end

        # @return [Integer]
        def bytesize = @names.sum(&:bytesize) + @token.bytesize
      end
    end
  end
end
