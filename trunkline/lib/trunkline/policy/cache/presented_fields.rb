# frozen_string_literal: true

require "digest"
require_relative "../../memo"
require_relative "../../redacted"
require_relative "directives"

module Trunkline
  module Policy
    class Cache
      # The parts of a request's header fields that a cache needs (RFC 9111 4, 5.2.1): directives, conditions, and a
      # digest of the credentials. All requests of a client with equal fields share one object. Frozen.
      class PresentedFields
        include Redacted

        # Conditions on the current state of the resource, which the cache cannot know.
        PRECONDITIONS = %w[if-match if-unmodified-since].freeze
        CONDITIONS = %w[if-none-match if-modified-since].freeze
        RANGE_FIELDS = %w[range if-range].freeze
        # RFC 9111 5.4
        NO_CACHE = Directives.new("no-cache")
        # A stored response is returned unchanged for a request without any of these fields.
        CACHE_FIELDS = [*PRECONDITIONS, *CONDITIONS, *RANGE_FIELDS, "cache-control", "pragma"].freeze
        # Lists of fields whose digests are kept in memory.
        VARIED = 16
        private_constant :PRECONDITIONS, :NO_CACHE, :CACHE_FIELDS, :VARIED

        # @return [Hash{String => String}] names in lower case
        attr_reader :values
        # @return [Directives]
        attr_reader :directives
        # @return [String] part of the cache keys: the servers that the client reaches, and the field Host
        attr_reader :server_identity
        # @return [String, nil] part of the cache keys: a digest of the credential fields and of the signer; nil without
        #   them
        attr_reader :credentials_digest

        # @param values [Hash{String => String}]
        # @param builder [RequestBuilder]
        # @param signer [String, nil] identifies the signer of the request
        def initialize(values, builder, signer)
          @values = values.freeze
          @plain = CACHE_FIELDS.none? { |name| values.key?(name) }
          @conditional = !@plain && CONDITIONS.any? { |name| values.key?(name) }
          @directives = @plain ? Directives::NONE : read_directives
          @server_identity = "#{builder.identity} #{values["host"]}"
          @credentials_digest = digest_of_credentials(builder, signer)
          @varied = {}
          freeze
        end

        # @return [Boolean] whether there is no field with a meaning for caches
        def plain? = @plain

        # @return [Boolean] whether the caller made the request conditional on a copy that it has
        def conditional? = @conditional

        # @return [Boolean] whether the request is sent without using the cache
        def bypasses?
          !@plain && (@directives.key?("no-store") || PRECONDITIONS.any? { |name| @values.key?(name) })
        end

        # @param names [Array<String>] fields that a response varies by, in lower case
        # @return [String] part of the cache keys: a digest of their values
        def digest_of(names)
          @varied[names] ||
            Memo.keep(@varied, VARIED, names, Digest::SHA256.hexdigest(names.map { |name| normal(name) }.join("\n")))
        end

        private

        def read_directives
          text = @values["cache-control"]
          return NO_CACHE if text.nil? && @values["pragma"]&.match?(/(?:\A|[\s,])no-cache(?:[\s,]|\z)/i)

          Directives.of(text)
        end

        def digest_of_credentials(builder, signer)
          fields = @values.select { |name, _| builder.credential_names.key?(name) }
          return if fields.empty? && signer.nil?

          builder.digest(fields.reduce(signer.to_s) { |text, (name, value)| "#{text}\n#{name}: #{value}" })
        end

        # RFC 9111 4.1: removes differences that have no meaning in any field. In the fields of content negotiation,
        # case has no meaning either.
        def normal(name)
          value = @values[name] or return "-"
          value = value.b.gsub(/[ \t]*,[ \t]*/n, ",")
          "+#{name.start_with?("accept") ? value.downcase : value}"
        end
      end
    end
  end
end
