# frozen_string_literal: true

require "openssl"

module Trunkline
  module Lab
    module Faults
      # Certificates for a server on 127.0.0.1: each is wrong in one way, except a right one. All but those of an
      # unknown issuer lead to one authority. Each is created at its first use.
      class Identities
        DAY = 86_400
        AUTHORITY = { "basicConstraints" => "critical,CA:TRUE" }.freeze
        # name => difference from the right one
        LEAVES = {
          right: {}, self_signed: { issuer: :itself }, unknown_authority: { issuer: :stranger },
          missing_intermediate: { chain: false }, wrong_host: { names: "DNS:wrong.test" },
          common_name_only: { names: nil }, expired: { from: -10 * DAY, till: -2 * DAY },
          not_yet_valid: { from: 2 * DAY, till: 10 * DAY }, for_clients: { usage: "clientAuth" }, tls_1_0: {},
          tls_1_1: {}, http2: {}
        }.freeze
        # name => newest TLS version of the server
        VERSIONS = { tls_1_0: OpenSSL::SSL::TLS1_VERSION, tls_1_1: OpenSSL::SSL::TLS1_1_VERSION }.freeze
        Pair = Struct.new(:certificate, :key)

        def initialize
          @serial = 0
          @lock = Mutex.new
          @contexts = {}
        end

        # @return [String] PEM of the authority that clients trust
        def authority = root.certificate.to_pem

        # @param name [Symbol] of LEAVES
        # @return [OpenSSL::SSL::SSLContext] for a server
        def context(name) = @lock.synchronize { @contexts[name] ||= make(name, **LEAVES.fetch(name)) }

        private

        def make(name, chain: true, **leaf)
          pair = leaf(**leaf)
          OpenSSL::SSL::SSLContext.new.tap do |context|
            identify(context, pair, chain ? [intermediate.certificate] : [])
            context.alpn_select_cb = ->(_) { "h2" } if name == :http2
            limit(context, VERSIONS[name]) if VERSIONS.key?(name)
          end
        end

        # JRuby's openssl has no add_certificate, and requires the certificate itself in the chain.
        def identify(context, pair, issuers)
          return context.add_certificate(pair.certificate, pair.key, issuers) unless RUBY_ENGINE == "jruby"

          context.cert = pair.certificate
          context.key = pair.key
          context.extra_chain_cert = [pair.certificate, *issuers]
        end

        def limit(context, version)
          context.max_version = version
          context.ciphers = "ALL:@SECLEVEL=0" # otherwise OpenSSL 3 refuses the handshake itself
        end

        def root = @root ||= issue("Authority of faults", nil, AUTHORITY)
        def intermediate = @intermediate ||= issue("Intermediate of faults", root, AUTHORITY)
        def stranger = @stranger ||= issue("Somebody else", nil, AUTHORITY)

        def leaf(names: "DNS:localhost,IP:127.0.0.1", usage: "serverAuth", issuer: :intermediate, from: -3600,
                 till: DAY)
          issuer = issuer == :itself ? nil : send(issuer)
          issue("127.0.0.1", issuer, { "subjectAltName" => names, "extendedKeyUsage" => usage }.compact,
                from: from, till: till)
        end

        # @param issuer [Pair, nil] nil for a self-signed certificate
        def issue(name, issuer, extensions, from: -3600, till: DAY)
          key = OpenSSL::PKey::EC.generate("prime256v1")
          certificate = blank(name, key, from, till)
          issuer ||= Pair.new(certificate, key)
          certificate.issuer = issuer.certificate.subject
          factory = OpenSSL::X509::ExtensionFactory.new(issuer.certificate, certificate)
          { "subjectKeyIdentifier" => "hash", **extensions }.each do |id, value|
            certificate.add_extension(factory.create_extension(id, value.delete_prefix("critical,"),
                                                               value.start_with?("critical,")))
          end
          Pair.new(certificate.sign(issuer.key, "SHA256"), key)
        end

        def blank(name, key, from, till)
          OpenSSL::X509::Certificate.new.tap do |certificate|
            certificate.version = 2
            certificate.serial = @serial += 1
            certificate.subject = OpenSSL::X509::Name.new([["CN", name]])
            certificate.public_key = key
            certificate.not_before = Time.now + from
            certificate.not_after = Time.now + till
          end
        end
      end
    end
  end
end
