# frozen_string_literal: true

require "openssl"

module Trunkline
  module Lab
    # A test authority and a certificate for 127.0.0.1 and localhost, created in the given folder.
    class Certificates
      AUTHORITY_EXTENSIONS = { "basicConstraints" => "critical,CA:TRUE", "keyUsage" => "critical,keyCertSign",
                               "subjectKeyIdentifier" => "hash" }.freeze
      SERVER_EXTENSIONS = { "subjectAltName" => "DNS:localhost,IP:127.0.0.1", "extendedKeyUsage" => "serverAuth",
                            "subjectKeyIdentifier" => "hash", "authorityKeyIdentifier" => "keyid" }.freeze

      attr_reader :ca_file, :cert_file, :key_file

      def initialize(folder)
        @ca_file = File.join(folder, "ca.pem")
        @cert_file = File.join(folder, "server.pem")
        @key_file = File.join(folder, "server.key")
        write
      end

      private

      def write
        authority_key = OpenSSL::PKey::EC.generate("prime256v1")
        authority = certificate("/CN=Trunkline lab authority", authority_key, serial: 1)
        extend_with(authority, authority, AUTHORITY_EXTENSIONS)
        authority.issuer = authority.subject
        authority.sign(authority_key, "SHA256")
        write_server(authority, authority_key)
        File.write(ca_file, authority.to_pem)
      end

      def write_server(authority, authority_key)
        key = OpenSSL::PKey::EC.generate("prime256v1")
        server = certificate("/CN=localhost", key, serial: 2)
        server.issuer = authority.subject
        extend_with(server, authority, SERVER_EXTENSIONS)
        server.sign(authority_key, "SHA256")
        File.write(cert_file, server.to_pem)
        File.write(key_file, key.to_pem, perm: 0o600)
      end

      def certificate(subject, key, serial:)
        OpenSSL::X509::Certificate.new.tap do |made|
          made.version = 2
          made.serial = serial
          made.subject = OpenSSL::X509::Name.parse(subject)
          made.public_key = key
          made.not_before = Time.now - 3600
          made.not_after = Time.now + 86_400
        end
      end

      def extend_with(made, issuer, extensions)
        factory = OpenSSL::X509::ExtensionFactory.new(issuer, made)
        extensions.each do |name, value|
          critical = value.start_with?("critical,")
          made.add_extension(factory.create_extension(name, value.delete_prefix("critical,"), critical))
        end
      end
    end
  end
end
