# frozen_string_literal: true

require_relative "../errors"
require_relative "../redacted"

module Trunkline
  class Options
    # Checks client_cert:, client_key: and client_key_password:, and converts them for the engine to paths of PEM files,
    # which the engine reads again when they change, or to PEM text. Objects of Ruby's OpenSSL are converted to text,
    # because the engine may use another copy of the library.
    #
    # @api private
    module ClientCertificate
      PEM = "-----BEGIN "
      CERTIFICATE = "-----BEGIN CERTIFICATE-----"
      CERTIFICATES = "a readable PEM file, PEM text, an OpenSSL::X509::Certificate, an Array of these for a chain, " \
                     "or PKCS#12: a readable .p12 or .pfx file, its bytes, or an OpenSSL::PKCS12"
      KEYS = "a readable PEM file, PEM text, or a private OpenSSL::PKey"
      WRONG = "is not the password of the key; what was given is not shown"
      # Other exceptions that JRuby's openssl raises for some keys.
      ERRORS_OF_JRUBY = RUBY_ENGINE == "jruby" ? [Java::JavaLang::RuntimeException].freeze : [].freeze
      private_constant :PEM, :CERTIFICATE, :CERTIFICATES, :KEYS, :WRONG, :ERRORS_OF_JRUBY

      # A PKCS#12 archive that has not been decrypted: that needs the password, which is another option.
      EncryptedPKCS12 = Struct.new(:bytes) { include Redacted }

      class << self
        # @param name [Symbol]
        # @param value [Object] as given for client_cert:
        # @return [String, EncryptedPKCS12, OpenSSL::PKCS12]
        # @raise [InvalidRequest]
        def certificate(name, value)
          return value if openssl?("PKCS12", value)
          return EncryptedPKCS12.new(value) if value.is_a?(String) && pkcs12?(value)
          return chain(name, value) if value.is_a?(Array) || openssl?("X509::Certificate", value) || pem?(value)

          path = Checks.readable_pem(name, value, CERTIFICATES)
          path.match?(/\.(?:p12|pfx)\z/i) ? EncryptedPKCS12.new(File.binread(path)) : path
        end

        # @param name [Symbol]
        # @param value [Object] as given for client_key:
        # @return [String]
        # @raise [InvalidRequest]
        def key(name, value)
          return private_text(name, value) if openssl?("PKey::PKey", value)

          pem?(value) ? value.dup.freeze : Checks.readable_pem(name, value, KEYS)
        end

        # @param name [Symbol]
        # @param value [Object] as given for client_key_password:
        # @return [String]
        # @raise [InvalidRequest]
        def password(name, value)
          return value.dup.freeze if value.is_a?(String) && value.bytesize.between?(1, 1023) && !value.include?("\0")

          raise InvalidRequest, "#{name}: must be a String of 1 to 1023 bytes, without NUL; what was given is not shown"
        end

        # @param values [Hash{Symbol => Object}] the three options, checked one by one
        # @return [Hash{Symbol => String, nil}] the three options as they are passed to the engine
        # @raise [InvalidRequest] for a key that cannot be read, and for a wrong password
        def complete(values)
          certificate, key, password = values.values_at(:client_cert, :client_key, :client_key_password)
          return decrypt(certificate, password) if certificate.is_a?(EncryptedPKCS12) || openssl?("PKCS12", certificate)

          key ||= with_key(certificate)
          check_key(key, password) if pem?(key) || (password && certificate)
          { client_cert: certificate, client_key: key, client_key_password: password }
        end

        private

        def pem?(value) = value.is_a?(String) && value.include?(PEM) && !value.include?("\0")

        # DER of PKCS#12 begins with a SEQUENCE of more than 127 bytes, or of unknown length.
        def pkcs12?(value)
          value.getbyte(0) == 0x30 && [0x80, 0x81, 0x82, 0x83].include?(value.getbyte(1)) && value.bytesize > 64
        end

        def openssl?(name, value)
          defined?(::OpenSSL::PKey) && value.is_a?(::OpenSSL.const_get(name))
        end

        def chain(name, value)
          text = Array(value).map { |one| one.respond_to?(:to_pem) ? one.to_pem : one }
          return text.join("\n").freeze if text.all? { |one| pem?(one) } && text.first.to_s.include?(CERTIFICATE)

          raise InvalidRequest, "#{name}: must be #{CERTIFICATES}; what was given is not shown"
        end

        def private_text(name, key)
          return key.private_to_pem.freeze if key.respond_to?(:private_to_pem)
          raise ArgumentError unless key.private? # on JRuby, whose to_pem has the private key if there is one

          key.to_pem.freeze
        rescue StandardError # OpenSSL::PKey::PKeyError, for a public key
          raise InvalidRequest, "#{name}: must be #{KEYS}; the key that was given is not private", cause: nil
        end

        # PEM text may contain both certificate and key.
        def with_key(certificate)
          return certificate unless pem?(certificate) && !certificate.include?("PRIVATE KEY")

          raise InvalidRequest, "client_key: is needed beside client_cert:, which has a certificate alone"
        end

        # Given nil, OpenSSL would prompt for a password on the terminal. "" prevents that, and decrypts no key.
        def check_key(key_or_path, password)
          require "openssl"
          text = pem?(key_or_path) ? key_or_path : File.read(key_or_path)
          key = ::OpenSSL::PKey.read(text, password || "")
          private_text(:client_key, key)
        rescue ::OpenSSL::PKey::PKeyError, SystemCallError, *ERRORS_OF_JRUBY
          raise InvalidRequest, "client_key_password: #{WRONG}", cause: nil if password
          raise InvalidRequest, "client_key: is encrypted; give client_key_password: too" if text.include?("ENCRYPTED")

          raise InvalidRequest, "client_key: must be #{KEYS}; what was given is not shown", cause: nil
        end

        def decrypt(pkcs12, password)
          require "openssl"
          archive = pkcs12.is_a?(EncryptedPKCS12) ? ::OpenSSL::PKCS12.new(pkcs12.bytes, password.to_s) : pkcs12
          unless archive.certificate && archive.key
            raise InvalidRequest, "client_cert: its PKCS#12 must hold a certificate and a key"
          end

          { client_cert: chain(:client_cert, [archive.certificate, *archive.ca_certs]),
            client_key: private_text(:client_key, archive.key), client_key_password: nil }
        rescue ::OpenSSL::PKCS12::PKCS12Error
          raise InvalidRequest, "client_cert: its PKCS#12 cannot be read; is client_key_password: its password?",
                cause: nil
        end
      end
    end
  end
end
