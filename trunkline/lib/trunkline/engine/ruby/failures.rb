# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby # :nodoc: see waker.rb
      # All failures by code: the class that is raised (under Trunkline), and the words that follow "failed". The same
      # as in the C engine (protocol/failure_codes.h).
      FAILURES = {
        OUT_OF_MEMORY: [:Error, "there was no memory left"],
        CANCELLED: [:Cancelled, "it was given up before its answer was complete"],
        FORKED: [:ForkedConnection, "the connection belongs to the parent process"],
        POOL_CLOSED: [:ClosedError, "the pool was closed"],
        RESOLVE: [:ResolveError, "the name could not be resolved"],
        CONNECT: [:ConnectError, "no connection could be made"],
        EGRESS: [:EgressRefused, "egress: does not allow it"],
        TLS: [:TLSError, "the TLS handshake failed"],
        TLS_OPTIONS: [:TLSError, "a TLS option cannot be used"],
        TLS_IO: [:TLSError, "the TLS connection broke"],
        CERTIFICATE: [:CertificateError, "the server's certificate was not accepted"],
        PROXY: [:ProxyError, "the proxy did not open the way"],
        PROXY_REFUSED: [:ProxyError, "the proxy refused"],
        CLOSED: [:ConnectionClosed, "the server closed the connection without an answer"],
        RESET: [:ConnectionClosed, "the connection was reset"],
        QUEUE_TIMEOUT: [:QueueTimeout, "no connection became free in time"],
        RESOLVE_TIMEOUT: [:ResolveTimeout, "the name was not resolved in time"],
        CONNECT_TIMEOUT: [:ConnectTimeout, "no connection was made in time"],
        TLS_TIMEOUT: [:TLSTimeout, "the TLS handshake did not end in time"],
        WRITE_TIMEOUT: [:WriteTimeout, "the request could not be written in time"],
        FIRST_BYTE_TIMEOUT: [:FirstByteTimeout, "no answer came in time"],
        READ_TIMEOUT: [:ReadTimeout, "the answer stopped coming"],
        TOTAL_TIMEOUT: [:TotalTimeout, "the call did not end in time"],
        STATUS_LINE: [:InvalidResponse, "the status line is malformed"],
        VERSION: [:InvalidResponse, "the HTTP version is not 1.0 or 1.1"],
        FIELD_NAME: [:InvalidResponse, "a field name is malformed"],
        FIELD_VALUE: [:InvalidResponse, "a field value holds a forbidden byte"],
        LINE_END: [:InvalidResponse, "a line does not end in CRLF"],
        LENGTH_INVALID: [:InvalidResponse, "Content-Length is not a number in range"],
        LENGTH_CONFLICT: [:InvalidResponse, "there are several different Content-Length values"],
        LENGTH_AND_CODING: [:InvalidResponse, "Content-Length and Transfer-Encoding came together"],
        TRANSFER_CODING: [:InvalidResponse, "Transfer-Encoding is not exactly one chunked"],
        SWITCHED: [:InvalidResponse, "the server switched protocols unasked"],
        INFORMATIONAL_LIMIT: [:InvalidResponse, "too many 1xx answers came"],
        CHUNK_SIZE: [:InvalidResponse, "a chunk size is malformed"],
        CHUNK_END: [:InvalidResponse, "a chunk does not end in CRLF"],
        CHUNK_EXTENSION: [:InvalidResponse, "chunk extensions are malformed or too long"],
        CHUNK_OVERHEAD: [:InvalidResponse, "chunk framing far outweighs its data"],
        HEAD_TOO_LARGE: [:HeadersTooLarge, "the header section is too large"],
        TOO_MANY_FIELDS: [:HeadersTooLarge, "there are too many header fields"],
        TRAILER_TOO_LARGE: [:HeadersTooLarge, "the trailer section is too large"],
        TRUNCATED_HEAD: [:TruncatedBody, "the connection ended before the head was complete"],
        TRUNCATED_HEAD_TLS: [:TruncatedBody,
                             "the connection ended without TLS close_notify before the head was complete"],
        TRUNCATED: [:TruncatedBody, "the answer ended before the body was complete"],
        TRUNCATED_TLS: [:TruncatedBody, "the connection ended without TLS close_notify before the body was complete"],
        HTTP2_PROTOCOL: [:InvalidResponse, "the server broke the rules of HTTP/2"],
        HTTP2_MALFORMED: [:InvalidResponse, "the answer is malformed by the rules of HTTP/2"],
        HTTP2_FLOOD: [:InvalidResponse, "the server sent a flood of HTTP/2 frames"],
        HTTP2_RESET: [:StreamReset, "the server reset the HTTP/2 stream"],
        HTTP2_REFUSED: [:StreamReset, "the server refused the HTTP/2 stream unprocessed"],
        HTTP2_GONE: [:ConnectionClosed, "the server said goodbye to the HTTP/2 connection"],
        HTTP2_NOT_SPOKEN: [:ProtocolError, "the server does not speak HTTP/2"],
        HTTP2_NO_CONNECT: [:ProtocolError, "the server takes no WebSockets over HTTP/2"],
        CODING_DATA: [:DecodeError, "the compressed body is corrupt"],
        CODING_TRUNCATED: [:DecodeError, "the compressed body ends too early"],
        CODING_TRAILING: [:DecodeError, "bytes follow the end of the compressed body"],
        CODING_CHAIN: [:DecodeError, "too many content codings are stacked"],
        CODING_RATIO: [:BodyTooLarge, "the body unpacks to suspiciously much"],
        BODY_TOO_LARGE: [:BodyTooLarge, "the body is larger than allowed"],
        BODY_SHORT: [:BodyError, "the request body gave fewer bytes than it had declared"],
        BODY_LONG: [:BodyError, "the request body gave more bytes than it had declared"]
      }.freeze

      PHASES = %i[queue resolve connect tls write first_byte read].freeze

      # The failure code for the timeout of each phase.
      TIMEOUT_CODES = PHASES.to_h { |phase| [phase, :"#{phase.upcase}_TIMEOUT"] }.freeze

      # The reason why an exchange failed, within the engine: an Exchange converts it to the caller's error
      # (Engine.failure).
      #
      # @api private
      class Failure < StandardError
        attr_reader :code, :detail, :errno
        attr_accessor :phase, :allowed, :refusal

        # @param code [Symbol] a key of FAILURES
        # @param detail [String] the message of the operating system, OpenSSL or the resolver; empty: none
        # @param phase [Symbol, nil] one of PHASES; nil: set by the exchange
        # @param errno [Integer] 0: none
        def initialize(code, detail = "", phase: nil, errno: 0)
          super(code.to_s)
          @code = code
          @detail = detail
          @phase = phase
          @errno = errno
        end

        # @param error [SystemCallError]
        def self.of_system(code, error, phase: nil)
          new(code, Failure.strerror(error.errno), phase: phase, errno: error.errno)
        end

        # @return [String] the message of strerror
        def self.strerror(errno) = SystemCallError.new(errno).message

        def class_name = FAILURES.fetch(code).first

        # @return [Boolean] whether the connection ended before a response began
        def died? = %i[CLOSED RESET TLS_IO].include?(code)

        def timeout? = code.end_with?("_TIMEOUT")

        # @return [Hash] the arguments for Engine.failure that the failure itself determines
        def facts
          { code: code, words: FAILURES.fetch(code).last, detail: Failure.text(detail), phase: phase, errno: errno }
        end

        # Text from the system or the server: UTF-8 if it is valid, else binary.
        def self.text(words)
          words = words.dup.force_encoding(Encoding::UTF_8)
          words.valid_encoding? ? words : words.b
        end
      end

      # Raises the error of a failure that has no exchange. Before the write phase nothing was sent. The Failure, which
      # the caller has rescued, is no cause: the error contains all of it.
      #
      # @param failure [Failure]
      # @param request [Request, nil]
      def self.raise_failure(failure, request)
        facts = failure.facts
        facts[:request] = request
        facts[:label] = request.origin.label if request
        facts[:sent] = :none if PHASES.index(failure.phase) < PHASES.index(:write)
        raise Engine.failure(failure.class_name, facts), cause: nil
      end

      # Reads the TLS options of the request's origin, before a call begins: one that cannot be used is no failure of an
      # attempt.
      #
      # @raise [TLSError]
      def self.need_key(request)
        make_key(request) unless request.origin.key?
      end

      def self.make_key(request)
        request.origin.key
      rescue Failure => error
        raise_failure(error, request)
      end
      private_class_method :make_key
    end
  end
end
