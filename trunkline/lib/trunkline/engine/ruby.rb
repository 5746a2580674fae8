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
      names_queued: Ruby::Limits::NAMES_QUEUED, lookups: Ruby::Limits::LOOKUPS, lookups_of_unknown: 304,
      lookups_of_domain: 288, tls_session_keys: Ruby::Limits::TLS_SESSION_KEYS,
      tls_sessions_per_key: Ruby::Limits::TLS_SESSIONS_PER_KEY, tls_contexts: Ruby::Limits::TLS_CONTEXTS, tls_stores: 8,
      proxy_refusal_bytes: Ruby::Limits::PROXY_REFUSAL_BYTES, known_origins: 1024,
      **(HTTP2 ? Ruby::HTTP2::Session::BOUNDS : {})
    }.freeze

    class << self
      # @return [Encoding, nil]
      def charset(name)
        name = String.try_convert(name) || raise(TypeError, "no implicit conversion of #{name.class} into String")
        Ruby::Charset.find(name)
      end

      # @return [Response]
      def response(request, head, body)
        Response._of(request, Ruby::StubResponseState.new(head, body))
      rescue Ruby::Failure => error
        error.phase = :read
        Ruby.raise_failure(error, request)
      end

      # @return [Hash{Symbol => String, nil}]
      def libraries
        require "openssl"
        { openssl: OpenSSL::OPENSSL_LIBRARY_VERSION, zlib: Zlib.zlib_version, nghttp2: nil,
          brotli: (::Brotli::VERSION if CODINGS.include?("br")),
          zstd: (::Zstd::VERSION if CODINGS.include?("zstd")) }
      end

      # @return [Boolean] true: the engine uses Ruby's OpenSSL
      def same_openssl?(_store) = true
    end
  end
end
