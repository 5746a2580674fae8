# frozen_string_literal: true

require_relative "../../test_helper"
require "trunkline/faraday"
require "faraday/net_http"

# The ssl: options of a Faraday connection: trusted certificates, client certificates, versions, ciphers.
class TestFaradayTLS < TrunklineTest
  def faraday(url, ssl: {}, adapter: :trunkline)
    opened(Faraday.new(url, request: { timeout: DEFAULT_TIMEOUT }, ssl: ssl) { |builder| builder.adapter(adapter) })
  end

  def test_tls
    server = serve_tls
    localhost = server.url(host: "localhost")
    assert_equal "ok", faraday(localhost, ssl: { ca_file: TestCA.ca_file }).get("/").body
    assert_equal "ok", faraday(localhost, ssl: { ca_path: TestCA.ca_path }).get("/").body
    assert_equal "ok", faraday(localhost, ssl: { cert_store: TestCA.store, min_version: :TLS1_2 }).get("/").body
    assert_equal "ok", faraday(localhost, ssl: { verify: false }).get("/").body
    assert_equal "ok", faraday(localhost, ssl: { verify_mode: OpenSSL::SSL::VERIFY_NONE }).get("/").body
    error = assert_raises(Faraday::SSLError) { faraday(localhost).get("/") }
    assert_kind_of Trunkline::CertificateError, error.wrapped_exception
  end

  def test_a_file_of_authorities_that_is_rotated
    server = serve_tls do |connection|
      connection << response_bytes("ok", "Connection" => "close") if connection.read_request
    end
    Dir.mktmpdir do |folder|
      path = File.join(folder, "ca.pem")
      write = ->(text, seconds) { File.write(path, text) && File.utime(Time.now - seconds, Time.now - seconds, path) }
      write.call(File.read(TestCA.other_ca_file), 90)
      http = faraday(server.url(host: "localhost"), ssl: { ca_file: path })
      assert_raises(Faraday::SSLError) { http.get("/") }
      write.call(File.read(TestCA.ca_file), 80)
      assert_equal "ok", http.get("/").body
      write.call("none", 70)
      2.times { assert_equal "ok", http.get("/").body }
      File.delete(path)
      assert_equal "ok", http.get("/").body
      write.call(File.read(TestCA.other_ca_file), 60)
      assert_raises(Faraday::SSLError) { http.get("/") }
    end
  end

  def test_the_name_in_a_certificate_need_not_be_checked
    url = serve_tls(identity: :wrong_host).url(host: "localhost")
    assert_raises(Faraday::SSLError) { faraday(url, ssl: { ca_file: TestCA.ca_file }).get("/") }
    unchecked = { ca_file: TestCA.ca_file, verify_hostname: false }
    assert_equal "ok", faraday(url, ssl: unchecked).get("/").body
    assert_raises(Faraday::SSLError) { faraday(url, ssl: { verify_hostname: false }).get("/") }
  end

  def test_client_certificates_as_objects_text_and_files
    identity = TestCA.identity(:client)
    url = serve_tls(context: { client_ca: true }).url(host: "localhost")
    { "objects" => [[identity.certificate, *identity.issuers], identity.key],
      "text" => [[identity.certificate, *identity.issuers].map(&:to_pem).join, identity.key.to_pem],
      "files" => [TestCA.certificate_file(:client), TestCA.key_file(:client)] }.each do |form, (certificate, key)|
      ssl = { ca_file: TestCA.ca_file, client_cert: certificate, client_key: key }
      assert_equal "ok", faraday(url, ssl: ssl).get("/").body, form
    end
  end

  def test_unsupported_versions_are_refused_by_name
    { max_version: :TLS1_1, version: :TLSv1, min_version: "SSLv9" }.each do |name, value|
      error = assert_raises(Trunkline::InvalidRequest) { faraday("https://127.0.0.1:1", ssl: { name => value }).get("/") }
      assert_includes error.message, name.to_s
    end
  end

  # Cases compared with :net_http: server options, ssl: options, whether the request succeeds.
  CHOICES = {
    max_version: [{ min: :TLS1_3 }, { max_version: :TLS1_2 }, false],
    max_version_that_fits: [{ max: :TLS1_2 }, { max_version: :TLS1_2 }, true],
    version: [{ min: :TLS1_3 }, { version: :TLSv1_2 }, false],
    version_that_fits: [{ max: :TLS1_2 }, { version: "TLSv1_2" }, true],
    any_version: [{ min: :TLS1_3 }, { version: :SSLv23 }, true],
    min_version: [{ max: :TLS1_2 }, { min_version: :TLS1_3 }, false],
    versions_that_overlap: [{ min: :TLS1_3 }, { version: :TLSv1_2, max_version: :TLS1_3 }, true],
    verify_depth: [{}, { verify_depth: 0 }, false],
    verify_depth_that_fits: [{}, { verify_depth: 1 }, true],
    ciphers: [{ max: :TLS1_2 }, { ciphers: "ECDHE-#{TestCA::OTHER_KIND}-AES128-GCM-SHA256" }, false],
    ciphers_that_fit: [{ max: :TLS1_2 }, { ciphers: ["ECDHE-#{TestCA::KIND}-AES128-GCM-SHA256"] }, true],
    ciphers_nobody_knows: [{}, { ciphers: "NOSUCHCIPHER" }, false],
    verify_mode_over_verify: [{}, { verify: true, verify_mode: OpenSSL::SSL::VERIFY_NONE, ca_file: nil }, true],
    verify_over_nothing: [{}, { verify: false, ca_file: nil }, true],
    verify_mode_that_is_strict: [{}, { verify: false, verify_mode: OpenSSL::SSL::VERIFY_PEER, ca_file: nil }, false]
  }.freeze

  CHOICES.each do |name, (context, ssl, works)|
    define_method(:"test_#{name}_as_with_net_http") do
      url = serve_tls(context: context).url(host: "localhost")
      adapters = %i[net_http trunkline]
      adapters.shift if RUBY_ENGINE == "jruby" && name == :versions_that_overlap # its net/http has no range of versions
      adapters.each do |adapter|
        connection = faraday(url, ssl: { ca_file: TestCA.ca_file, **ssl }, adapter: adapter)
        next assert_equal "ok", connection.get("/").body, adapter if works

        assert_raises(Faraday::SSLError, adapter) { connection.get("/") }
      end
    end
  end

  def test_the_name_to_verify
    url = serve_tls(identity: :example).url(host: "localhost")
    assert_equal "ok", faraday(url, ssl: { ca_file: TestCA.ca_file, hostname: "example.test" }).get("/").body
    assert_raises(Faraday::SSLError) { faraday(url, ssl: { ca_file: TestCA.ca_file }).get("/") }
    assert_raises(Faraday::SSLError) { faraday(url, ssl: { ca_file: TestCA.ca_file, hostname: "a.test" }).get("/") }
  end

  def test_a_file_is_trusted_beside_a_store
    url = serve_tls.url(host: "localhost")
    %i[net_http trunkline].each do |adapter|
      others = OpenSSL::X509::Store.new.tap { |store| store.add_cert(TestCA.other_root.certificate) }
      assert_raises(Faraday::SSLError) { faraday(url, ssl: { cert_store: others }, adapter: adapter).get("/") }
      ssl = { cert_store: others, ca_file: TestCA.ca_file }
      assert_equal "ok", faraday(url, ssl: ssl, adapter: adapter).get("/").body, adapter
    end
  end

  def test_a_file_is_trusted_beside_the_systems_authorities
    url = serve_tls.url(host: "localhost")
    %i[net_http trunkline].each do |adapter|
      code = <<~RUBY
        require "trunkline/faraday"
        require "faraday/net_http"
        ssl = { ca_file: #{TestCA.other_ca_file.inspect} }
        print Faraday.new(#{url.inspect}, ssl: ssl) { |builder| builder.adapter(:#{adapter}) }.get("/").body
      RUBY
      result = Subprocess.run(code, { "SSL_CERT_FILE" => TestCA.ca_file })
      assert_equal "ok", result.out, result.err
    end
  end

  def test_new_connections_of_the_same_options_share_theirs
    server = serve_tls
    3.times { faraday(server.url(host: "localhost"), ssl: { ca_file: TestCA.ca_file }).get("/") }
    assert_equal 1, server.connection_count
  end
end
