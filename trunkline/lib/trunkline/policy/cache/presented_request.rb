# frozen_string_literal: true

require_relative "../../redacted"
require_relative "presented_fields"

module Trunkline
  module Policy
    class Cache
      # The parts of a GET or HEAD that the cache needs (RFC 9111 4): its fields as they are sent, and the keys under
      # which its response is stored.
      #
      # A key holds the URL, a digest of the credential fields and of the signer, and whatever else makes two clients
      # get different responses. So no caller gets a response that was fetched with another caller's credentials, and a
      # store holds no credentials in its keys.
      class PresentedRequest
        include Redacted

        # @return [Request]
        attr_reader :request
        # @return [PresentedFields]
        attr_reader :fields

        # @param request [Request]
        # @param call [Call]
        # @param sent [Request] as it is sent, except for the signature
        def initialize(request, call, sent = call.with_policy_fields(request))
          @key = nil
          @request = request
          @origin = request.origin.url
          @fields = call.builder.presented_fields(sent, call.signer)
        end

        # @return [Boolean]
        def head? = @request.method == "HEAD"

        # @return [String] "api.test:443"
        def label = @origin.label

        # @return [String]
        def key
          target = @request.target
          # The target of a request that is sent to a forward proxy is the whole URL.
          @key ||= target.start_with?("/") ? key_of(@origin.origin, target) : key_of(@request.url)
        end

        # @param url [String]
        # @return [Array<String>] keys of the responses for the URL: with the same credentials, and without credentials
        def keys_of(url) = [key_of(url), key_of(url, "", nil)].uniq

        # @param names [Array<String>] fields that the response varies by, in lower case
        # @param token [String] of the Variants
        # @return [String]
        def variant_key(names, token) = "#{key} #{token} #{@fields.digest_of(names)}".freeze

        private

        def key_of(origin, target = "", credentials_digest = @fields.credentials_digest)
          # Frozen, since a Hash would copy an unfrozen key.
          "#{@fields.server_identity} #{origin}#{target} #{credentials_digest}".freeze
        end
      end
    end
  end
end
