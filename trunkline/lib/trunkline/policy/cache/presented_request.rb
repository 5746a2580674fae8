# frozen_string_literal: true

require "digest"
require_relative "../../redacted"
require_relative "directives"

module Trunkline
  module Policy
    class Cache
      # What the cache reads of a GET or HEAD (RFC 9111 4): its fields as they are sent, its directives, and the keys
      # under which its answer is kept.
      #
      # A key names whose answer it is: it holds the URL, a digest of the fields that are credentials and of the signer,
      # and what else makes two clients have different answers. So nobody is given what another one's credentials
      # fetched, and a store holds no credential in a key.
      class PresentedRequest
        include Redacted

        # The caller asks about the state of the resource, which the cache cannot know.
        PRECONDITIONS = %w[if-match if-unmodified-since].freeze
        CONDITIONS = %w[if-none-match if-modified-since].freeze
        PARTS = %w[range if-range].freeze
        # RFC 9111 5.4
        NO_CACHE = Directives.new("no-cache")
        # A request with none of these takes the answer as it is kept.
        TELLING = [*PRECONDITIONS, *CONDITIONS, *PARTS, "cache-control", "pragma"].to_h { |name| [name, true] }.freeze
        # What is read of each, besides its credentials.
        READ = { **TELLING, "host" => true }.freeze
        private_constant :PRECONDITIONS, :NO_CACHE, :TELLING

        # @return [Request]
        attr_reader :request
        # @return [Directives]
        attr_reader :directives

        # @param request [Request]
        # @param call [Call]
        # @param completed [Request] as it is sent, but for a signature
        def initialize(request, call, completed = call.completed(request))
          @key = nil
          @request = request
          @origin = request.origin.url
          @builder = call.builder
          @credentials = call.signer
          @completed = completed
          read = completed._fields_by_name(@builder.read_by_caches)
          @host = read.delete("host")
          @plain = true
          read.each { |name, value| note(name, value) } unless read.empty?
          @directives = @plain ? Directives::NONE : directives_of(read)
        end

        # @return [Hash{String => String}] the fields as they are sent, names in lower case
        def fields = @fields ||= @completed._fields_by_name

        # @return [Boolean] whether it has no field that tells caches anything
        def plain? = @plain

        # @return [Boolean]
        def head? = @request.method == "HEAD"

        # @return [String, nil] the field Range
        def range = @plain ? nil : fields["range"]

        # @return [Boolean] whether the caller makes it conditional on its own copy
        def conditional? = !@plain && CONDITIONS.any? { |name| fields.key?(name) }

        # @return [Boolean] whether the cache has no part in it
        def bypasses?
          !@plain && (@directives.key?("no-store") || PRECONDITIONS.any? { |name| fields.key?(name) })
        end

        # @return [String] "api.test:443"
        def label = @origin.label

        # @return [String]
        def key
          target = @request.target
          # A request that a proxy is sent itself has the whole URL there.
          @key ||= target.start_with?("/") ? key_of(@origin.origin, target) : key_of(@request.url)
        end

        # @param url [String]
        # @return [Array<String>] of what is kept for it: for the same credentials, and for none
        def keys_of(url) = [key_of(url), key_of(url, "", nil)].uniq

        # @param names [Array<String>] fields that the answer varies by, in lower case
        # @param token [String] of the list of names, see Variants
        # @return [String]
        def variant_key(names, token)
          "#{key} #{token} #{Digest::SHA256.hexdigest(names.map { |name| normal(name) }.join("\n"))}"
        end

        private

        def note(name, value)
          @plain = false if TELLING.key?(name)
          @credentials = "#{@credentials}\n#{name}: #{value}" if @builder.credential_names.key?(name)
        end

        def directives_of(fields)
          text = fields["cache-control"]
          return NO_CACHE if text.nil? && fields["pragma"]&.match?(/(?:\A|[\s,])no-cache(?:[\s,]|\z)/i)

          Directives.of(text)
        end

        def key_of(origin, target = "", whose = @credentials)
          whose = @builder.digest(whose) if whose
          "#{@builder.identity} #{@host} #{origin}#{target} #{whose}"
        end

        # RFC 9111 4.1: without what does not change the meaning, as far as all fields have that in common. Of the
        # fields that negotiate, case has no meaning either.
        def normal(name)
          value = fields[name] or return "-"
          value = value.b.gsub(/[ \t]*,[ \t]*/n, ",")
          "+#{name.start_with?("accept") ? value.downcase : value}"
        end
      end
    end
  end
end
