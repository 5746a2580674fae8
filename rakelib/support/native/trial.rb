# frozen_string_literal: true

# Runs in an image and checks that the compiled extensions are loaded, with their bundled libraries, and find the CA
# certificates. It changes the image's certificates.

require "fileutils"
require "openssl"
require "socket"
require "trunkline"
require "trunkline/xml"

def check(what)
  abort "FAILED: #{what}" unless yield
  puts "  #{what}"
end

def certificate(name, key, issuer: nil, issuer_key: key, extensions: [])
  OpenSSL::X509::Certificate.new.tap do |made|
    made.version = 2
    made.serial = rand(1 << 64)
    made.subject = OpenSSL::X509::Name.parse("/CN=#{name}")
    made.issuer = (issuer || made).subject
    made.public_key = key
    made.not_before = Time.now - 60
    made.not_after = Time.now + 3600
    factory = OpenSSL::X509::ExtensionFactory.new(issuer || made, made)
    extensions.each { |extension| made.add_extension(factory.create_extension(*extension)) }
    made.sign(issuer_key, "SHA256")
  end
end

# Answers each request with "ok", over TLS by Ruby's own OpenSSL. Returns its port.
def serve(certificate, key)
  tcp = TCPServer.new("127.0.0.1", 0)
  context = OpenSSL::SSL::SSLContext.new
  context.add_certificate(certificate, key)
  server = OpenSSL::SSL::SSLServer.new(tcp, context)
  Thread.new do
    loop do
      Thread.new(server.accept) do |socket|
        until socket.gets.to_s.strip.empty? do end
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        socket.close
      end
    rescue OpenSSL::SSL::SSLError
      next # a client that does not trust the certificate
    end
  end
  tcp.addr[1]
end

root_key, key = Array.new(2) { OpenSSL::PKey::EC.generate("prime256v1") }
ROOT = certificate("trial root", root_key, extensions: [["basicConstraints", "CA:TRUE", true]])
leaf = certificate("localhost", key, issuer: ROOT, issuer_key: root_key,
                                     extensions: [["subjectAltName", "DNS:localhost"]])
URL = "https://localhost:#{serve(leaf, key)}/".freeze
File.write("/tmp/root.pem", ROOT.to_pem)

# A new client each time, so that no connection is reused.
def trusted?(**options)
  Trunkline.new(URL, timeout: 20, max_idle: 1, **options).get("/").body == "ok"
rescue Trunkline::CertificateError
  false
end

# Installs one distribution's CA bundle and removes those of the others.
def only(path)
  BUNDLES.each { |other| FileUtils.rm_f(other) }
  FileUtils.mkdir_p(File.dirname(path))
  FileUtils.cp("/tmp/root.pem", path)
end

BUNDLES = %w[/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem].freeze

ruby = RUBY_VERSION[/\d+\.\d+/]
puts RUBY_DESCRIPTION
check("the extension for this Ruby is loaded") { $LOADED_FEATURES.grep(%r{/lib/trunkline/#{ruby}/trunkline\.so}).any? }
check("so is XML's") { $LOADED_FEATURES.grep(%r{/#{ruby}/trunkline_xml\.so}).any? && Trunkline::XML.native? }
check("HTTP/2, br and zstd are there") { Trunkline::Engine::HTTP2 && Trunkline::Engine::CODINGS.match?(/br.*zstd/) }
check("a server is not trusted by default") { !trusted? }
check("ca_file:") { trusted?(ca_file: "/tmp/root.pem") }
check("ca_store: of Ruby's own OpenSSL") do
  store = OpenSSL::X509::Store.new.tap { |one| one.add_cert(ROOT) }
  2.times.all? { trusted?(ca_store: store) } && !trusted?(ca_store: OpenSSL::X509::Store.new)
end
check("SSL_CERT_FILE") do
  ENV["SSL_CERT_FILE"] = "/tmp/root.pem"
  trusted?.tap { ENV.delete("SSL_CERT_FILE") }
end
FileUtils.rm_rf("/usr/lib/ssl")
BUNDLES.each do |path|
  check(path) do
    only(path)
    trusted?
  end
end
check("none of them") do
  FileUtils.rm_f(BUNDLES.last)
  !trusted?
end
