# frozen_string_literal: true

require "net/http"
require "openssl"
require "zlib"
require_relative "../errors"

module Trunkline
  module NetHTTP
    # Says Trunkline's errors with the classes that users of Net::HTTP rescue.
    #
    # @api private
    module Failures
      TIMEOUTS = {
        ResolveTimeout => Net::OpenTimeout, ConnectTimeout => Net::OpenTimeout, TLSTimeout => Net::OpenTimeout,
        QueueTimeout => Net::OpenTimeout, WriteTimeout => Net::WriteTimeout, FirstByteTimeout => Net::ReadTimeout,
        ReadTimeout => Net::ReadTimeout, TotalTimeout => Net::ReadTimeout
      }.freeze

      OTHERS = {
        TruncatedBody => EOFError, ConnectionClosed => EOFError, ForkedConnection => EOFError,
        InvalidResponse => Net::HTTPBadResponse, HeadersTooLarge => Net::HTTPBadResponse,
        DecodeError => Zlib::DataError, BodyError => IOError, ClosedError => IOError
      }.freeze

      # As Ruby's own sockets name it in their messages.
      RESOLVER = RUBY_VERSION >= "3.4" ? "getaddrinfo(3)" : "getaddrinfo"

      class << self
        # @param session [Session]
        # @yield to the engine alone: what a caller's block raises is the caller's
        # @raise [StandardError] whose cause is Trunkline's error
        def translated(session)
          yield
        rescue Error => error
          raise of(error, session.place), cause: error
        end

        private

        def of(error, place)
          case error
          when ResolveError then SocketError.new(opening(place, "#{RESOLVER}: #{resolver_words(error)}"))
          when ConnectError then refused(error, place)
          when CertificateError then OpenSSL::SSL::SSLError.new("certificate verify failed: #{error.message}")
          when TLSError then OpenSSL::SSL::SSLError.new(error.message)
          when ProxyError then unwilling(error)
          when TimeoutError then TIMEOUTS.fetch(error.class).new.exception(error.message)
          else other(error)
          end
        end

        def opening(place, why)
          "Failed to open TCP connection to #{place} (#{why})"
        end

        # The system's words, without ours: that is what is looked for in messages.
        def resolver_words(error)
          error.message[/\([^()]*: ([^()]+)\)/, 1] || error.message
        end

        def refused(error, place)
          reason = SystemCallError.new("connect(2) for #{place}", error.errno || Errno::ECONNREFUSED::Errno)
          return Net::OpenTimeout.new(opening(place, reason.message)) if reason.is_a?(Errno::ETIMEDOUT)

          reason.exception(opening(place, reason.message))
        end

        # Net::HTTP raises a proxy's refusal as it would a server's.
        def unwilling(error)
          return EOFError.new(error.message) unless error.status

          words = error.message[/#{error.status} ([^)]*)\)/, 1] || ""
          answer = Answer.plain("1.1", error.status, words, error.headers)
          answer.error_type.new("#{answer.code} #{answer.message.dump}", answer)
        end

        def other(error)
          return SystemCallError.new(error.message, error.errno) if error.is_a?(ConnectionClosed) && error.errno

          (OTHERS[error.class] || IOError).new(error.message)
        end
      end
    end
  end
end
