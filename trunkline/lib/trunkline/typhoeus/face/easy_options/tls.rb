# frozen_string_literal: true

require_relative "../../../pem_file"

module Trunkline
  module TyphoeusFace
    class EasyOptions
      # Whom to trust, and as whom to come.
      module TLS
        VERSIONS = {
          "default" => "1.2", "tlsv1" => "1.2", "tlsv1_0" => "1.2", "tlsv1_1" => "1.2", "tlsv1_2" => "1.2",
          "tlsv1_3" => "1.3"
        }.freeze
        # What the password of a key is called, and files that may have the key.
        PASSWORDS = %i[keypasswd sslkeypasswd sslcertpasswd ssl_key_password].freeze
        KEY_FILES = %i[sslkey ssl_key sslcert ssl_cert].freeze
        private_constant :VERSIONS, :PASSWORDS, :KEY_FILES

        # For EasyOptions itself.
        module ClassMethods
          # @param options [Hash] a request's
          # @return [Boolean] whether a key with a password is among them
          def password?(options)
            PASSWORDS.any? { |name| options.key?(name) }
          end

          # @return [Array] another one when a file that may have the key has changed
          def key_stamps(options)
            KEY_FILES.map { |name| PemFile.stamp(options[name]) }
          end
        end

        private

        def option_ssl_verifypeer(value)
          @lasting[:verify] = false unless value.nil? || on?(value)
        end

        def option_ssl_verifyhost(value)
          @lasting[:verify_hostname] = false unless value.nil? || on?(value)
        end

        { cainfo: :ca_file, capath: :ca_path, sslcert: :client_cert, sslkey: :client_key,
          ssl_cipher_list: :ciphers, tls13_ciphers: :ciphersuites }.each do |name, option|
          define_method(:"option_#{name}") { |value| @lasting[option] = value if value }
        end

        # PEM text in place of a file.
        { cainfo_blob: :ca_file, sslcert_blob: :client_cert, sslkey_blob: :client_key }.each do |name, option|
          define_method(:"option_#{name}") { |value| @lasting[option] = PemFile.path(value.to_s) if value }
        end

        def option_keypasswd(value)
          @key_password = value.to_s if value
        end

        def option_sslcerttype(value) = pem_alone(:sslcerttype, value)
        def option_sslkeytype(value) = pem_alone(:sslkeytype, value)

        def pem_alone(name, value)
          refuse(name, value, "PEM") unless value.nil? || value.to_s.casecmp?("PEM")
        end

        def option_sslversion(value)
          return if value.nil?

          @lasting[:min_tls] = VERSIONS.fetch(value.to_s) { refuse(:sslversion, value, VERSIONS.keys.join(", ")) }
        end

        # The engine asks nobody for a password: it gets the key without.
        def settle_key
          file = @lasting[:client_key] || @lasting[:client_cert]
          @lasting[:client_key] = unlocked(file) if @key_password && file
        end

        def unlocked(file)
          require "openssl"
          key = OpenSSL::PKey.read(File.read(file), @key_password)
          PemFile.path(key.respond_to?(:private_to_pem) ? key.private_to_pem : key.to_pem)
        rescue OpenSSL::PKey::PKeyError, SystemCallError
          raise InvalidRequest, "sslkey: cannot be read with the keypasswd that was given", cause: nil
        end
      end
    end
  end
end
