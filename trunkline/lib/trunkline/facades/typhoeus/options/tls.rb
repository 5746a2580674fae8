# frozen_string_literal: true

require_relative "../../pem_file"

module Trunkline
  module Facades
    module Typhoeus
      class Options
        # Options for TLS: trusted certificates, client certificates, versions, ciphers.
        module TLS
          VERSIONS = {
            "default" => "1.2", "tlsv1" => "1.2", "tlsv1_0" => "1.2", "tlsv1_1" => "1.2", "tlsv1_2" => "1.2",
            "tlsv1_3" => "1.3"
          }.freeze
          private_constant :VERSIONS

          private

          def option_ssl_verifypeer(value)
            @client_options[:verify] = false unless value.nil? || on?(value)
          end

          def option_ssl_verifyhost(value)
            @client_options[:verify_hostname] = false unless value.nil? || on?(value)
          end

          { cainfo: :ca_file, capath: :ca_path, sslcert: :client_cert, sslkey: :client_key,
            ssl_cipher_list: :ciphers, tls13_ciphers: :ciphersuites }.each do |name, option|
            define_method(:"option_#{name}") { |value| @client_options[option] = value if value }
          end

          # Options that take PEM text instead of a file.
          { cainfo_blob: :ca_file, sslcert_blob: :client_cert, sslkey_blob: :client_key }.each do |name, option|
            define_method(:"option_#{name}") { |value| @client_options[option] = PemFile.path(value.to_s) if value }
          end

          def option_keypasswd(value)
            @client_options[:client_key_password] = value.to_s if value
          end

          def option_sslcerttype(value) = refuse_other_than_pem(:sslcerttype, value)
          def option_sslkeytype(value) = refuse_other_than_pem(:sslkeytype, value)

          def refuse_other_than_pem(name, value)
            refuse(name, value, "PEM") unless value.nil? || value.to_s.casecmp?("PEM")
          end

          def option_sslversion(value)
            return if value.nil?

            known = VERSIONS.keys.join(", ")
            @client_options[:min_tls] = VERSIONS.fetch(value.to_s) { refuse(:sslversion, value, known) }
          end

          # libcurl ignores a password without a certificate.
          def complete_key
            @client_options.delete(:client_key_password) unless @client_options[:client_cert]
          end
        end
      end
    end
  end
end
