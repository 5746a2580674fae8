# frozen_string_literal: true

require_relative "../../redacted"
require_relative "presented_fields"

module Trunkline
  module Policy
    class Cache
      # What the cache reads of a GET or HEAD (RFC 9111 4): its fields as they are sent, and the keys under which its
      # answer is kept.
      #
      # A key names whose answer it is: it holds the URL, a digest of the fields that are credentials and of the signer,
      # and what else makes two clients have different answers. So nobody is given what another one's credentials
      # fetched, and a store holds no credential in a key.
      class PresentedRequest
        include Redacted

        # @return [Request]
        attr_reader :request
        # @return [PresentedFields]
        attr_reader :fields

        # @param request [Request]
        # @param call [Call]
        # @param completed [Request] as it is sent, but for a signature
        def initialize(request, call, completed = call.completed(request))
          @key = nil
          @request = request
          @origin = request.origin.url
          @fields = call.builder.presented_fields(completed, call.signer)
        end

        # @return [Boolean]
        def head? = @request.method == "HEAD"

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
        def variant_key(names, token) = "#{key} #{token} #{@fields.digest_of(names)}".freeze

        private

        def key_of(origin, target = "", whose = @fields.whose)
          "#{@fields.whence} #{origin}#{target} #{whose}".freeze # a Hash would copy another one
        end
      end
    end
  end
end
