# frozen_string_literal: true

require_relative "ruby/transport"
require_relative "ruby/request_building"
require_relative "ruby/response"
require_relative "ruby/stub_response_state"
require_relative "ruby/event_stream"
require_relative "ruby/charset"
require_relative "ruby/json_batches"

module Trunkline
  # The engine in Ruby: the functions that need no connection.
  module Engine
    # The engine's fixed limits by name, which no option changes (docs/limits.md).
    BOUNDS = {
      decode_ratio_from: Ruby::Limits::RATIO_FROM, content_codings: Ruby::Limits::CODINGS, zstd_window: 1 << 23,
      trailer_bytes: Ruby::Limits::TRAILER_BYTES, chunk_extension_bytes: Ruby::Limits::EXTENSION_LINE,
      chunk_extensions_bytes: Ruby::Limits::EXTENSION_TOTAL, chunk_overhead: Ruby::Limits::OVERHEAD_RATIO,
      informational: Ruby::Limits::INFORMATIONAL, streamed_piece: Ruby::Limits::PIECE,
      attempts: Ruby::Limits::ATTEMPTS, connects_at_once: Ruby::Limits::CONNECTS_AT_ONCE,
      addresses: Ruby::Limits::ADDRESSES, servers_known: 256, names: Ruby::Limits::NAMES,
      names_queued: Ruby::Limits::NAMES_QUEUED, lookups: Ruby::Limits::LOOKUPS,
      lookups_of_unknown: Ruby::Limits::LOOKUPS_OF_UNKNOWN, lookups_of_domain: Ruby::Limits::LOOKUPS_OF_DOMAIN,
      tls_session_keys: Ruby::Limits::TLS_SESSION_KEYS,
      tls_sessions_per_key: Ruby::Limits::TLS_SESSIONS_PER_KEY, tls_contexts: Ruby::Limits::TLS_CONTEXTS,
      proxy_refusal_bytes: Ruby::Limits::PROXY_REFUSAL_BYTES, known_origins: 1024,
      **(HTTP2 ? Ruby::HTTP2::Session::BOUNDS : {})
    }.freeze

    class << self
      # @return [Encoding, nil]
      def charset(name)
        Ruby::Charset.find(Ruby::Checks.string(name))
      end

      # @return [Response]
      def response(request, head, body)
        Response._of(request, Ruby::StubResponseState.new(Ruby::Checks.string(head), Ruby::Checks.string(body)))
      rescue Ruby::Failure => error
        error.phase = :read
        Ruby.raise_failure(error, request)
      end

      # @return [Hash{Symbol => String, nil}]
      def libraries
        { openssl: openssl_version, zlib: Zlib.zlib_version, nghttp2: nil,
          brotli: (::Brotli::VERSION if CODINGS.include?("br")),
          zstd: (::Zstd::VERSION if CODINGS.include?("zstd")) }
      end

      # @return [Boolean] true: the engine uses Ruby's OpenSSL
      def same_openssl?(_store) = true

      private

      # @return [String, nil] nil: Ruby was built without OpenSSL
      def openssl_version
        require "openssl"
        OpenSSL::OPENSSL_LIBRARY_VERSION
      rescue LoadError
        nil
      end
    end
  end
end
