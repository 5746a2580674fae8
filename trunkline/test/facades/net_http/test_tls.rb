# frozen_string_literal: true

require_relative "../../test_helper"
require "net/http"
require "trunkline/net_http"

# TLS options of a Net::HTTP session that Trunkline runs: trusted certificates, client certificates, versions.
class TestNetHTTPTLS < TrunklineTest
  def setup
    super
    Trunkline::NetHTTP.install!
  end

  def teardown
    Trunkline::NetHTTP.uninstall!
    super
  end

  def test_a_ca_file
    server = serve_tls
    2.times { assert_equal "ok", secure(server, ca_file: TestCA.ca_file).get("/").body }
    assert_equal 1, server.connection_count
  end

  def test_a_ca_path
    assert_equal "ok", secure(serve_tls, ca_path: TestCA.ca_path).get("/").body
  end

  def test_new_stores_of_the_same_certificates_share_connections
    server = serve_tls
    4.times do
      file = OpenSSL::X509::Store.new.tap { |store| store.add_file(TestCA.ca_file) }
      certificate = OpenSSL::X509::Store.new.tap { |store| store.add_cert(TestCA.root.certificate) }
      [file, certificate].each { |store| assert_equal "ok", secure(server, cert_store: store).get("/").body }
    end
    assert_equal 2, server.connection_count
  end

  def test_a_store_that_is_changed_later_trusts_what_it_holds_then
    server = serve_tls
    store = OpenSSL::X509::Store.new.tap { |one| one.add_cert(TestCA.other_root.certificate) }
    assert_raises(OpenSSL::SSL::SSLError) { secure(server, cert_store: store).get("/") }
    store.add_cert(TestCA.root.certificate)
    assert_equal "ok", secure(server, cert_store: store).get("/").body
  end

  def test_the_authorities_of_a_store_and_of_a_file_together
    server = serve_tls
    store = OpenSSL::X509::Store.new.tap(&:set_default_paths)
    assert_equal "ok", secure(server, cert_store: store, ca_file: TestCA.ca_file).get("/").body
    assert_raises(OpenSSL::SSL::SSLError) { secure(server, cert_store: store).get("/") }
  end

  def test_an_empty_store_trusts_no_certificate
    assert_raises(OpenSSL::SSL::SSLError) { secure(serve_tls, cert_store: OpenSSL::X509::Store.new).get("/") }
  end

  def test_a_store_with_custom_rules_is_used_unchanged
    server = serve_tls
    store = TestCA.store
    store.flags = OpenSSL::X509::V_FLAG_CRL_CHECK
    error = assert_raises(OpenSSL::SSL::SSLError) { secure(server, cert_store: store).get("/") }
    assert_match(/CRL/, error.message)
    assert_equal "ok", secure(server, cert_store: TestCA.store).get("/").body
  end

  def test_the_system_is_trusted_by_default
    error = assert_raises(OpenSSL::SSL::SSLError) { secure(serve_tls).get("/") }
    assert_match(/certificate verify failed/, error.message)
    assert_kind_of Trunkline::CertificateError, error.cause
  end

  def test_no_verification
    assert_equal "ok", secure(serve_tls(identity: :expired), verify_mode: OpenSSL::SSL::VERIFY_NONE).get("/").body
  end

  def test_an_unverified_connection_is_not_reused_for_a_verifying_client
    server = serve_tls
    assert_equal "ok", secure(server, verify_mode: OpenSSL::SSL::VERIFY_NONE).get("/").body
    assert_raises(OpenSSL::SSL::SSLError) { secure(server).get("/") }
  end

  def test_a_wrong_name
    server = serve_tls(identity: :wrong_host)
    assert_raises(OpenSSL::SSL::SSLError) { secure(server, ca_file: TestCA.ca_file).get("/") }
    assert_equal "ok", secure(server, ca_file: TestCA.ca_file, verify_hostname: false).get("/").body
  end

  def test_an_address_beside_the_name
    server = serve_tls(identity: :example)
    http = secure(server, host: "example.test", ipaddr: "127.0.0.1", ca_file: TestCA.ca_file)
    assert_equal "ok", http.get("/").body
    assert_equal "example.test:#{server.port}", server.requests.last["host"]
  end

  def test_a_client_certificate_in_memory
    server = serve_tls(context: { client_ca: true })
    first, second = %i[client second_client].map do |name|
      identity = TestCA.identity(name)
      secure(server, ca_file: TestCA.ca_file, cert: identity.certificate, key: identity.key,
                     extra_chain_cert: identity.issuers)
    end
    2.times { assert_equal "ok", first.get("/").body }
    assert_equal "ok", second.get("/").body
    assert_equal 2, server.connection_count, "one for each certificate"
    assert_raises(OpenSSL::SSL::SSLError, SystemCallError, EOFError) { secure(server, ca_file: TestCA.ca_file).get("/") }
  end

  def test_a_key_of_another_certificate
    http = secure(serve_tls, ca_file: TestCA.ca_file, cert: TestCA.identity(:client).certificate,
                             key: TestCA.identity(:second_client).key)
    assert_raises(OpenSSL::SSL::SSLError) { http.get("/") }
    assert_raises(OpenSSL::SSL::SSLError) { http.start }
  end

  def test_a_minimum_version
    server = serve_tls(context: { max: :TLS1_2 })
    assert_equal "ok", secure(server, ca_file: TestCA.ca_file, min_version: :TLS1_2).get("/").body
    assert_raises(OpenSSL::SSL::SSLError) { secure(server, ca_file: TestCA.ca_file, min_version: :TLS1_3).get("/") }
  end

  def test_versions
    modern = serve_tls(context: { min: :TLS1_3 })
    [{ max_version: :TLS1_2 }, { max_version: OpenSSL::SSL::TLS1_2_VERSION }, { ssl_version: :TLSv1_2 },
     { ssl_version: "TLSv1_2_client", min_version: "TLS1_2" }].each do |options|
      assert_raises(OpenSSL::SSL::SSLError, options.inspect) { trusting(modern, **options).get("/") }
    end
    [{ max_version: :TLS1_3 }, { ssl_version: :TLSv1_2, max_version: :TLS1_3 }, { ssl_version: :SSLv23 }]
      .each { |options| assert_equal "ok", trusting(modern, **options).get("/").body }
  end

  def test_ciphers
    key = TestCA.identity(:localhost).key.is_a?(OpenSSL::PKey::RSA) ? "RSA" : "ECDSA"
    small, large = %w[128 256].map { |bits| "ECDHE-#{key}-AES#{bits}-GCM-SHA#{bits == "128" ? 256 : 384}" }
    context = TestCA.server_context(max: :TLS1_2)
    context.ciphers = small
    server = serve(tls: context) { |connection| connection << response_bytes while connection.read_request }
    ["#{small}:#{large}", [small], [[small, "TLSv1.2", 128, 128]]].each do |ciphers|
      assert_equal "ok", trusting(server, ciphers: ciphers).get("/").body
    end
    assert_equal 2, server.connection_count, "carried: one for each list"
    assert_raises(OpenSSL::SSL::SSLError) { trusting(server, ciphers: large).get("/") }
    assert_raises(OpenSSL::SSL::SSLError) { trusting(server, ciphers: "NOSUCHCIPHER").get("/") }
  end

  def test_verify_depth
    server = serve_tls
    2.times { assert_equal "ok", trusting(server, verify_depth: 1).get("/").body }
    assert_equal 1, server.connection_count
    assert_raises(OpenSSL::SSL::SSLError) { trusting(server, verify_depth: 0).get("/") }
  end

  # option => a value that only Net::HTTP itself supports
  { verify_callback: ->(ok, _) { ok }, min_version: :TLS1_1, local_host: "localhost" }.each do |option, value|
    define_method(:"test_#{option}_is_left_to_net_http") do
      server = serve_tls
      capture_io do
        2.times { assert_equal "ok", secure(server, ca_file: TestCA.ca_file, option => value).get("/").body }
      end
      assert_equal 2, server.connection_count
      assert_equal "close", server.requests.last["connection"]
    end
  end

  def test_the_certificate_of_the_server_can_be_had
    server = serve_tls
    secure(server, ca_file: TestCA.ca_file).start do |http|
      assert_equal "ok", http.get("/").body
      capture_io { assert_equal TestCA.identity(:localhost).certificate.to_der, http.peer_cert.to_der }
      assert_equal "ok", http.get("/").body
    end
  end

  def test_the_version_and_the_cipher_can_be_had
    secure(serve_tls(context: { min: :TLS1_3 }), ca_file: TestCA.ca_file).start do |http|
      socket = http.instance_variable_get(:@socket).io
      assert_equal "TLSv1.3", socket.ssl_version
      assert_match(/\ATLS_/, socket.cipher.first)
    end
  end

  def test_a_handshake_that_hangs
    server = serve(handshake: false, &:stall)
    assert_raises(Net::OpenTimeout) { secure(server, open_timeout: 0.2, ca_file: TestCA.ca_file).start }
  end

  def test_a_server_that_speaks_no_tls
    server = serve { |connection| (connection << response_bytes) && connection.read_rest }
    assert_raises(OpenSSL::SSL::SSLError) { secure(server, ca_file: TestCA.ca_file).start }
  end

  private

  def trusting(server, **options) = secure(server, ca_file: TestCA.ca_file, **options)

  def secure(server, host: "localhost", **options)
    Net::HTTP.new(host, server.port, nil).tap do |http|
      http.use_ssl = true
      options.each { |name, value| http.public_send(:"#{name}=", value) }
    end
  end
end
