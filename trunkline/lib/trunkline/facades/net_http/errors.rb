# frozen_string_literal: true

require "net/http"
require "openssl"
require "zlib"
require_relative "../../errors"
require_relative "response_adapter"

module Trunkline
  module Facades
    module NetHTTP
      # Maps errors to the classes that users of Net::HTTP rescue. Programs match Net::HTTP's messages and error
      # trackers group by them, so an error that Net::HTTP can raise has Net::HTTP's message; Trunkline's error is the
      # cause.
      module Errors
        # The classes for errors that have no equivalent in Net::HTTP.
        OTHERS = {
          ForkedConnection => EOFError, BreakerOpen => Net::OpenTimeout, QueueTimeout => Net::OpenTimeout,
          TotalTimeout => Net::ReadTimeout, DeadlineExceeded => Net::ReadTimeout,
          InvalidResponse => Net::HTTPBadResponse, HeadersTooLarge => Net::HTTPBadResponse,
          DecodeError => Zlib::DataError, BodyError => IOError, ClosedError => IOError
        }.freeze

        # The resolver's name in the error messages of Ruby's own sockets.
        RESOLVER = RUBY_VERSION >= "3.4" ? "getaddrinfo(3)" : "getaddrinfo"

        BY_TCP_SOCKET = Gem::Version.new(Net::HTTP::VERSION) >= Gem::Version.new("0.3")
        # From Ruby 4.0 on, Net::HTTP passes open_timeout to the socket, whose timeout error has another message.
        BY_OPEN_TIMEOUT = Gem::Version.new(Net::HTTP::VERSION) >= Gem::Version.new("0.7") &&
                          Socket.method(:tcp).parameters.include?(%i[key open_timeout])
        private_constant :BY_TCP_SOCKET, :BY_OPEN_TIMEOUT

        class << self
          # Runs the block and converts its errors. The block must not call code of the caller, whose errors must not be
          # converted.
          #
          # @param session [Session]
          # @yield calls the engine
          # @raise [StandardError] with Trunkline's error as its cause
          def convert_errors(session)
            yield
          rescue Error => error
            raise convert(error, session.endpoint), cause: error
          end

          private

          def convert(error, endpoint)
            case error
            when ResolveError then SocketError.new(not_opened(endpoint, "#{RESOLVER}: #{resolver_message(error)}"))
            when ConnectError then not_connected(error, endpoint)
            when EgressRefused then Errno::EACCES.new(not_opened(endpoint, error.message))
            when TLSError then not_secured(error)
            when ProxyError then refused_by_proxy(error)
            when ConnectionClosed, TruncatedBody then ended(error)
            when TimeoutError then timed_out(error, endpoint)
            else other(error)
            end
          end

          def timed_out(error, endpoint)
            case error
            when ResolveTimeout, ConnectTimeout then Net::OpenTimeout.new(not_opened(endpoint, too_late(endpoint)))
            when TLSTimeout then Net::OpenTimeout.new
            when FirstByteTimeout, ReadTimeout then waited(Net::ReadTimeout)
            when WriteTimeout then waited(Net::WriteTimeout)
            else other(error)
            end
          end

          def too_late(endpoint)
            BY_OPEN_TIMEOUT ? "user specified timeout for #{endpoint}" : "execution expired"
          end

          # There is no socket to inspect. Net::HTTP's own socket is closed, too, when the message is read.
          def waited(type)
            type.new.exception("#{type} with #<TCPSocket:(closed)>")
          end

          # The request is removed from Trunkline's message: while a session is started, it is only a placeholder.
          def not_secured(error)
            reason = error.message.sub(/\A\S+ \S+ at \S+ failed in the TLS handshake: /, "")
            reason = "certificate verify failed (#{reason})" if error.is_a?(CertificateError)
            OpenSSL::SSL::SSLError.new("SSL_connect state=error: #{reason}")
          end

          def ended(error)
            errno = error.errno if error.is_a?(ConnectionClosed)
            errno ? SystemCallError.new(nil, errno) : EOFError.new("end of file reached")
          end

          def not_opened(endpoint, reason)
            "Failed to open TCP connection to #{endpoint} (#{reason})"
          end

          # The resolver's part of the message, which programs match.
          def resolver_message(error)
            error.message[/\([^()]*: ([^()]+)\)/, 1] || error.message
          end

          def not_connected(error, endpoint)
            reason = SystemCallError.new("connect(2) for #{socket_words(endpoint)}",
                                         error.errno || Errno::ECONNREFUSED::Errno)
            return Net::OpenTimeout.new(not_opened(endpoint, reason.message)) if reason.is_a?(Errno::ETIMEDOUT)

            reason.exception(not_opened(endpoint, reason.message))
          end

          # Net::HTTP connects by TCPSocket.open, and before net-http 0.3 by Socket.tcp.
          def socket_words(endpoint)
            BY_TCP_SOCKET ? endpoint.sub(/\A(.*):(\d+)\z/, '"\1" port \2') : endpoint
          end

          # Net::HTTP raises the same class for a status from a proxy as Net::HTTPResponse#error! for one from a server.
          def refused_by_proxy(error)
            return EOFError.new(error.message) unless error.status

            reason = error.message[/#{error.status} ([^)]*)\)/, 1] || ""
            response = ResponseAdapter.head("1.1", error.status, reason, error.headers)
            response.error_type.new("#{response.code} #{response.message.dump}", response)
          end

          def other(error)
            type = OTHERS[error.class] || IOError
            # The constructors of Net::HTTP's timeout errors take a socket.
            type <= Net::ReadTimeout ? type.new.exception(error.message) : type.new(error.message)
          end
        end
      end
    end
  end
end
