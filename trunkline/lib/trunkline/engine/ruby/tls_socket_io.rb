# frozen_string_literal: true

require "openssl"
require_relative "socket_io"
require_relative "tls_messages"

module Trunkline
  module Engine
    module Ruby
      # A socket with TLS: #handshake must be called until it returns true.
      class TLSSocketIO < SocketIO
        CURRENT = :trunkline_tls_socket_io
        private_constant :CURRENT

        # Maximum of full handshakes that a server may begin again before it sends data. Handshakes that resume a
        # session are not counted, because OpenSSL does not call #verify for them.
        RENEGOTIATIONS = 4
        private_constant :RENEGOTIATIONS

        # @return [TLSSocketIO] the object whose handshake this thread is doing
        def self.current = Thread.current[CURRENT]

        attr_reader :tls_version, :cipher

        # @param ssl_context [OpenSSL::SSL::SSLContext]
        # @param tls_context [TLSContext]
        # @param name [String]
        # @param sessions [TLSSessions]
        # @param key [String] the key of the sessions
        def initialize(socket, ssl_context, tls_context, name, sessions, key)
          super(socket)
          @tls_context = tls_context
          @name = name = TLSMessages.verified(name)
          @sessions = sessions
          @key = key
          @numeric = name.match?(/\A[\d.]+\z/) || name.include?(":")
          @truncated = @partial_record = false
          @renegotiations = 0
          check_name
          @ssl = OpenSSL::SSL::SSLSocket.new(socket, ssl_context)
          @ssl.instance_variable_set(:@trunkline_key, key)
          # An IP address is not sent as SNI (RFC 6066, section 3).
          @ssl.hostname = name unless @numeric || name.empty?
          session = sessions.take(key)
          @ssl.session = session if session
        end

        # @return [true, :wait_readable, :wait_writable]
        # @raise [Failure]
        def handshake
          result = as_current { @ssl.connect_nonblock(exception: false) }
          return result if result.is_a?(Symbol)

          verify_again
          @tls_version = @ssl.ssl_version
          @cipher = Array(@ssl.cipher).first # JRuby returns only the name
          true
        rescue OpenSSL::SSL::SSLError, SystemCallError, IOError => error
          raise handshake_failed(error)
        end

        # Called by OpenSSL for each certificate of the chain.
        # @return [Boolean]
        def verify(good, store)
          certificate = store.current_cert
          unless good
            @certificate_error ||= wrong_name(store) ||
                                   TLSMessages.certificate_error(store.error, store.error_depth, certificate,
                                                                 @tls_context.authorities, store.error_string)
            return false
          end
          return true unless store.error_depth.zero?
          return refuse_renegotiation if @tls_version && (@renegotiations += 1) > RENEGOTIATIONS
          return true if named?(certificate)

          @certificate_error ||= TLSMessages.mismatch(certificate, @name, @numeric)
          store.error = OpenSSL::X509::V_ERR_HOSTNAME_MISMATCH if defined?(OpenSSL::X509::V_ERR_HOSTNAME_MISMATCH)
          false
        end

        def read(most, buffer)
          came = renegotiable { @ssl.read_nonblock(most, buffer, exception: false) }
          @truncated = cut_off? if came.nil?
          @renegotiations = 0 if came.is_a?(String)
          came
        rescue OpenSSL::SSL::SSLError => error
          return ended_early if TLSMessages.unexpected_end?(error)

          raise Failure.new(:TLS_IO, @certificate_error || TLSMessages.of(error), phase: :read)
        rescue EOFError
          ended_early
        rescue SystemCallError => error
          raise Failure.of_system(:RESET, error, phase: :read)
        rescue IOError # as in SocketIO#read
          raise Failure.new(:FORKED, phase: :read)
        end

        def write(bytes)
          taken = renegotiable { @ssl.write_nonblock(bytes, exception: false) }
          @partial_record = !taken.is_a?(Integer)
          taken
        rescue OpenSSL::SSL::SSLError => error
          if TLSMessages.unexpected_end?(error)
            raise Failure.new(:RESET, "the server has closed the connection", phase: :write)
          end

          raise Failure.new(:TLS_IO, @certificate_error || TLSMessages.of(error), phase: :write)
        rescue SystemCallError => error
          raise Failure.of_system(:RESET, error, phase: :write)
        rescue IOError
          raise Failure.new(:FORKED, phase: :write)
        end

        def protocol = @ssl.alpn_protocol
        def truncated? = @truncated
        def partial_record? = @partial_record

        def pending? = @ssl.pending.positive?

        # Session tickets are no data: OpenSSL handles them within the read.
        def quiet?
          renegotiable { @ssl.read_nonblock(1, exception: false) } == :wait_readable
        rescue OpenSSL::SSL::SSLError, SystemCallError, IOError
          false
        end

        def close(notify)
          send_close_notify if notify && @tls_version
          super
        end

        private

        # Sets TLSSocketIO.current, by which OpenSSL's callback finds the object whose #verify it calls.
        def as_current
          before = Thread.current[CURRENT]
          Thread.current[CURRENT] = self
          yield
        ensure
          Thread.current[CURRENT] = before
        end

        def refuse_renegotiation
          @certificate_error ||= "the server has renegotiated too often"
          false
        end

        # Up to TLS 1.2 a server may renegotiate, for instance to request a certificate that some of its paths need.
        def renegotiable(&block) = @tls_version == "TLSv1.3" ? yield : as_current(&block)

        def check_name
          return unless @tls_context.verify? && !@tls_context.any_name?
          return unless @name.empty? || @name.start_with?(".")

          raise Failure.new(:TLS, "\"#{@name}\" is no name to verify", phase: :tls)
        end

        # In a chain that is complete, OpenSSL checks the name before dates, signatures and revocations, so the C engine
        # reports a wrong name rather than those.
        # @return [String, nil] the message
        def wrong_name(store)
          return if @tls_context.common_name? || !TLSMessages.checked_after_names?(store.error)

          leaf = store.chain&.first
          TLSMessages.mismatch(leaf, @name, @numeric) unless leaf.nil? || named?(leaf)
        end

        def named?(certificate)
          return true if @tls_context.any_name?
          return OpenSSL::SSL.verify_certificate_identity(certificate, @name) if @tls_context.common_name?

          TLSMessages.named?(certificate, @name, @numeric)
        end

        # OpenSSL does not call #verify for a resumed session, so its stored certificate and result are checked.
        def verify_again
          return unless @tls_context.verify?

          certificate = @ssl.peer_cert
          @certificate_error ||= "the server has shown none" if certificate.nil?
          result = verify_result
          if @certificate_error.nil? && result != OpenSSL::X509::V_OK
            @certificate_error = TLSMessages.certificate_error(result, 0, certificate, @tls_context.authorities,
                                                               "it was not accepted before")
          end
          unless @certificate_error || named?(certificate)
            @certificate_error = TLSMessages.mismatch(certificate, @name, @numeric)
          end
          raise certificate_failure if @certificate_error
        end

        def verify_result = @ssl.verify_result

        def certificate_failure
          @sessions.forget(@key)
          Failure.new(:CERTIFICATE, @certificate_error, phase: :tls)
        end

        def handshake_failed(error)
          return certificate_failure if @certificate_error
          if error.is_a?(SystemCallError)
            return Failure.new(:TLS, Failure.strerror(error.errno), phase: :tls, errno: error.errno)
          end
          if error.is_a?(IOError) || TLSMessages.unexpected_end?(error)
            return Failure.new(:TLS, "the server closed the connection during the handshake", phase: :tls)
          end

          Failure.new(:TLS, TLSMessages.of(error), phase: :tls)
        end

        def cut_off? = @ssl.state.to_s.start_with?("SSLERR")

        def ended_early
          @truncated = true
          nil
        end

        # Sends close_notify without waiting for the server's.
        def send_close_notify
          @ssl.__send__(:stop)
        rescue OpenSSL::SSL::SSLError, SystemCallError, IOError
          nil
        end
      end
    end
  end
end
