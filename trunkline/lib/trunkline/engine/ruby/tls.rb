# frozen_string_literal: true

require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # The TLS contexts of a Config: created when first needed, because reading CA certificates is slow.
      class TLSContexts
        include Redacted

        CLIENT = { client_cert: nil, client_key: nil, client_key_password: nil }.freeze
        # Protocols that are offered by ALPN (RFC 7301), the preferred one first.
        ALPN = { auto: %w[h2 http/1.1], h1: %w[http/1.1], h2: %w[h2] }.freeze
        private_constant :CLIENT, :ALPN

        # @param options [Hash] see Options#to_engine
        # @param http [Symbol] :auto, :h1 or :h2
        def initialize(options, http)
          @options = options.merge(alpn: ALPN.fetch(http))
          @made = {}
          freeze
        end

        def own = @made[:own] ||= obtain(@options)

        def for_proxies = @made[:proxies] ||= obtain(@options.merge(CLIENT, alpn: ALPN[:h1]))

        private

        # Loads OpenSSL only here, since programs without https do not need it.
        def obtain(options)
          require_relative "tls_context"
          TLSContext.obtain(options)
        rescue LoadError => error
          raise InvalidRequest, "https: needs openssl for Ruby: build Ruby with OpenSSL, or add gem \"openssl\" to " \
                                "the Gemfile (#{error.message})"
        end
      end
    end
  end
end
