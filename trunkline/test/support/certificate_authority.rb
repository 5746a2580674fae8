# frozen_string_literal: true

require "openssl"
require "tmpdir"
require "fileutils"
require_relative "stop_at_exit"

# A certificate authority for one run: root -> intermediate -> leaves, and every way in which a leaf can be wrong. Its
# keys are elliptic, because they are generated in a millisecond.
module TestCA
  Identity = Struct.new(:name, :certificate, :key, :issuers)
  # The kind of its keys, as in the names of ciphers. OpenSSL cannot read the EC keys that JRuby 9.4.8 writes.
  KIND, OTHER_KIND = RUBY_ENGINE == "jruby" ? %w[RSA ECDSA] : %w[ECDSA RSA]

  DAY = 86_400
  LOOPBACK = "DNS:localhost,IP:127.0.0.1,IP:::1"
  SERVER = "serverAuth"
  CLIENT = "clientAuth"

  # name => differences from a valid certificate for this machine's loopback names
  LEAVES = {
    localhost: {},
    example: { names: "DNS:example.test,DNS:other.test,DNS:*.wild.test,DNS:xn--bcher-kva.test" },
    wrong_host: { names: "DNS:wrong.test" },
    ip_only: { names: "IP:127.0.0.1" },
    name_only: { names: "DNS:localhost" },
    without_names: { names: nil },
    common_name_only: { names: nil, common_name: "127.0.0.1" },
    expired: { from: -10 * DAY, till: -2 * DAY },
    not_yet_valid: { from: 2 * DAY, till: 10 * DAY },
    missing_intermediate: { send_chain: false },
    unknown_ca: { issuer: :other_root },
    self_signed: { issuer: :itself },
    client: { names: nil, usage: CLIENT, common_name: "first client" },
    second_client: { names: nil, usage: CLIENT, common_name: "second client" },
    stranger: { names: nil, usage: CLIENT, issuer: :other_root, common_name: "stranger" }
  }.freeze

  class << self
    def identity(name) = (@identities ||= {})[name] ||= issue_leaf(name, **LEAVES.fetch(name))

    # Makes another certificate of that kind, with another key, at each call.
    def new_leaf(name) = issue_leaf(name, **LEAVES.fetch(name))

    def certificate_file(name) = file("#{name}.pem") { pem_chain(identity(name)) }
    def key_file(name) = file("#{name}.key") { identity(name).key.to_pem }
    def ca_file = file("root.pem") { root.certificate.to_pem }

    def client_authorities_file
      file("authorities.pem") { [root, intermediate].map { |authority| authority.certificate.to_pem }.join }
    end

    def other_ca_file = file("other_root.pem") { other_root.certificate.to_pem }

    # A directory in OpenSSL's format: certificates named after the hash of their subject.
    def ca_path
      @ca_path ||= File.join(directory, "hashed").tap do |path|
        Dir.mkdir(path)
        hash = format("%08x.0", root.certificate.subject.hash)
        File.write(File.join(path, hash), root.certificate.to_pem)
      end
    end

    def empty_ca_path = @empty_ca_path ||= File.join(directory, "empty").tap { |path| Dir.mkdir(path) }

    # client_ca: true requires a client certificate of this authority.
    # options: raw OpenSSL flags to add, such as OpenSSL::SSL::OP_NO_TICKET.
    # alpn: the protocols to choose from, in order of preference, such as %w[h2 http/1.1]; nil: does not negotiate.
    def server_context(name = :localhost, min: nil, max: nil, client_ca: false, options: 0, alpn: nil)
      wanted = identity(name)
      OpenSSL::SSL::SSLContext.new.tap do |context|
        present(context, wanted)
        context.min_version = min if min
        context.max_version = max if max
        context.options |= options
        context.session_id_context = "trunkline"
        context.alpn_select_cb = ->(offered) { choose(alpn, offered) } if alpn
        ask_for_client_certificate(context) if client_ca
      end
    end

    def store = OpenSSL::X509::Store.new.tap { |store| store.add_cert(root.certificate) }

    def root = @root ||= issue_authority("Trunkline test root", nil)
    def intermediate = @intermediate ||= issue_authority("Trunkline test intermediate", root)
    def other_root = @other_root ||= issue_authority("Somebody else's root", nil)

    def stop
      FileUtils.remove_entry(@directory) if @directory && File.directory?(@directory)
    end

    private

    # On JRuby the chain must include the certificate itself.
    def present(context, wanted)
      return context.add_certificate(wanted.certificate, wanted.key, wanted.issuers) unless RUBY_ENGINE == "jruby"

      context.cert = wanted.certificate
      context.key = wanted.key
      context.extra_chain_cert = [wanted.certificate, *wanted.issuers]
    end

    def choose(protocols, offered)
      (protocols & offered).first or raise OpenSSL::SSL::SSLError, "no protocol in common"
    end

    def directory
      @directory ||= Dir.mktmpdir("trunkline-ca-").tap { StopAtExit.register(self) }
    end

    def file(name)
      path = File.join(directory, name)
      File.write(path, yield, perm: 0o600) unless File.exist?(path)
      path
    end

    def pem_chain(identity) = [identity.certificate, *identity.issuers].map(&:to_pem).join

    def ask_for_client_certificate(context)
      context.cert_store = store.tap { |store| store.add_cert(intermediate.certificate) }
      context.verify_mode = OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT
      context.client_ca = [root.certificate, intermediate.certificate]
    end

    def issue_authority(common_name, issuer)
      key = new_key
      certificate = blank(common_name, key, -DAY, 30 * DAY)
      sign(certificate, issuer || Identity.new(common_name, certificate, key), [
             ["basicConstraints", "CA:TRUE", true], ["keyUsage", "keyCertSign,cRLSign", true],
             %w[subjectKeyIdentifier hash]
           ])
      Identity.new(common_name, certificate, key, [])
    end

    def issue_leaf(name, names: LOOPBACK, from: -DAY, till: 10 * DAY, issuer: :intermediate, usage: SERVER,
                   send_chain: true, common_name: name.to_s.tr("_", " "))
      key = new_key
      certificate = blank(common_name, key, from, till)
      parent = issuer == :itself ? Identity.new(name, certificate, key) : public_send(issuer)
      extensions = [["keyUsage", "digitalSignature", true], ["extendedKeyUsage", usage]]
      extensions << ["subjectAltName", names] if names
      sign(certificate, parent, extensions)
      chain = issuer == :intermediate && send_chain ? [parent.certificate] : []
      Identity.new(name, certificate, key, chain)
    end

    def new_key
      KIND == "RSA" ? OpenSSL::PKey::RSA.new(2048) : OpenSSL::PKey::EC.generate("prime256v1")
    end

    def blank(common_name, key, from, till)
      OpenSSL::X509::Certificate.new.tap do |certificate|
        certificate.version = 2
        certificate.serial = OpenSSL::BN.rand(64)
        certificate.subject = OpenSSL::X509::Name.new([["O", "Trunkline tests"], ["CN", common_name]])
        certificate.public_key = key
        certificate.not_before = Time.now + from
        certificate.not_after = Time.now + till
      end
    end

    def sign(certificate, issuer, extensions)
      certificate.issuer = issuer.certificate.subject
      factory = OpenSSL::X509::ExtensionFactory.new(issuer.certificate, certificate)
      extensions.each { |extension| certificate.add_extension(factory.create_extension(*extension)) }
      certificate.sign(issuer.key, OpenSSL::Digest.new("SHA256"))
    end
  end
end
