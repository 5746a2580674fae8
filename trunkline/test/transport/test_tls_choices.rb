# frozen_string_literal: true

require_relative "../test_helper"

# The TLS options for ciphers, versions, the length of the certificate chain, and the name.
class TestTLSChoices < TrunklineTest
  AES128 = "ECDHE-#{TestCA::KIND}-AES128-GCM-SHA256".freeze
  AES128_OF_1_3 = "TLS_AES_128_GCM_SHA256"
  AES256 = "ECDHE-#{TestCA::KIND}-AES256-GCM-SHA384".freeze

  def test_ciphers
    server = server_with_cipher(AES128)
    used = secure_client(ciphers: "#{AES256}:#{AES128}").get(server.url).connection.cipher
    assert_equal RUBY_ENGINE == "jruby" ? "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" : AES128, used # Java's name
    error = assert_raises_with(Trunkline::TLSError, phase: :tls, sent: :none) do
      secure_client(ciphers: AES256).get(server.url)
    end
    assert_match(/handshake/, error.message)
  end

  def test_ciphersuites
    server = serve_tls
    return refused_by_openssl { secure_client(ciphersuites: AES128_OF_1_3).get(server.url) } unless CIPHERSUITES

    %w[TLS_AES_128_GCM_SHA256 TLS_CHACHA20_POLY1305_SHA256].each do |name|
      assert_equal name, secure_client(ciphersuites: name).get(server.url).connection.cipher
    end
  end

  def test_unknown_ciphers_are_named_before_connecting
    server = serve_tls
    { ciphers: "NOSUCHCIPHER", ciphersuites: "TLS_NO_SUCH_SUITE" }.each do |option, value|
      error = assert_raises(Trunkline::TLSError) { secure_client(option => value).get(server.url) }
      assert_includes error.message, "#{option} #{value}"
      assert_equal [nil, [], :none], [error.attempt, error.attempts, error.sent]
    end
    assert_equal 0, server.connection_count
  end

  def test_max_tls
    assert_equal "TLSv1.2", secure_client(max_tls: "1.2").get(serve_tls.url).connection.tls_version
    modern = serve_tls(context: { min: OpenSSL::SSL::TLS1_3_VERSION })
    assert_equal "TLSv1.3", secure_client(max_tls: "1.3").get(modern.url).connection.tls_version
    assert_raises_with(Trunkline::TLSError, phase: :tls, sent: :none) { secure_client(max_tls: "1.2").get(modern.url) }
  end

  def test_max_tls_below_min_tls_is_refused
    error = assert_raises(Trunkline::InvalidRequest) { client(max_tls: "1.2", min_tls: "1.3") }
    assert_includes error.message, "max_tls: 1.2 is below min_tls: 1.3"
    assert_raises(Trunkline::InvalidRequest) { client(max_tls: "1.2").with(min_tls: "1.3") }
  end

  # The chain is the server's certificate, one intermediate and the root.
  def test_verify_depth
    server = serve_tls
    assert_equal "ok", secure_client(verify_depth: 1).get(server.url).body
    error = assert_raises_with(Trunkline::CertificateError, phase: :tls, sent: :none) do
      secure_client(verify_depth: 0).get(server.url)
    end
    assert_match(/chain too long/, error.message)
    assert_equal "ok", secure_client(verify_depth: 0).with(verify: false).get(server.url).body
  end

  def test_verify_depth_is_a_clients_own
    server = serve_tls
    store = TestCA.store
    all, one, none = [nil, 1, 0].map { |depth| client(server.url, ca_store: store, verify_depth: depth, max_idle: 0) }
    2.times do
      assert_raises(Trunkline::CertificateError) { none.get }
      [one, all].each { |http| assert_equal "ok", http.get.body }
    end
  end

  def test_tls_name_is_sent
    response = client(tls_name: "example.test", verify: false).get(Nginx.url("/server_name", :tls))
    assert_equal "example.test", response.body
  end

  def test_tls_name_is_verified
    server = serve_tls(identity: :example)
    assert_equal "ok", secure_client(tls_name: "example.test").get(server.url(host: "localhost")).body
    assert_match(/\Alocalhost:/, server.requests.last["host"])
    error = assert_raises(Trunkline::CertificateError) { secure_client(tls_name: "wrong.test").get(server.url) }
    assert_match(/not for wrong\.test/, error.message)
  end

  def test_the_message_shows_the_name_without_its_last_dot
    server = serve_tls(identity: :example)
    assert_equal "ok", secure_client(tls_name: "example.test.").get(server.url).body
    error = assert_raises(Trunkline::CertificateError) { secure_client(tls_name: "localhost.").get(server.url) }
    assert_match(/not for localhost[^.]/, "#{error.message} ")
  end

  def test_a_wrong_name_is_reported_rather_than_a_wrong_date
    %i[expired not_yet_valid].each do |identity|
      server = serve_tls(identity: identity)
      error = assert_raises(Trunkline::CertificateError) { secure_client(tls_name: "wrong.test").get(server.url) }
      assert_match(/\(depth 0\): it is for localhost, .*not for wrong\.test/, error.message)
      dated = assert_raises(Trunkline::CertificateError) { secure_client(verify_hostname: false).get(server.url) }
      assert_match(/expired|not valid before/, dated.message)
    end
    unknown = serve_tls(identity: :unknown_ca)
    error = assert_raises(Trunkline::CertificateError) { secure_client(tls_name: "wrong.test").get(unknown.url) }
    assert_match(/issuer/, error.message)
  end

  def test_tls_name_may_be_an_address
    server = serve_tls(identity: :ip_only)
    assert_equal "ok", secure_client(tls_name: "127.0.0.1").get(server.url(host: "localhost")).body
    assert_raises(Trunkline::CertificateError) { secure_client(tls_name: "::1").get(server.url(host: "localhost")) }
  end

  def test_neither_connections_nor_sessions_are_shared_between_choices
    choices = [{}, { verify_depth: 5 }, { ciphers: AES128 }, { max_tls: "1.2" }, { tls_name: "name.choices.test" }]
    choices << { ciphersuites: AES128_OF_1_3 } if CIPHERSUITES
    usual = { connect_to: "127.0.0.1:#{Nginx.port(:tls)}", verify: false, headers: { "Connection" => "close" } }
    # No other test has a session for these names.
    resumed = choices.map { |choice| client(**usual, **choice).get("https://choices.test/session_reused").body }
    assert_equal ["."] * choices.size, resumed
  end

  def test_connections_are_not_shared_between_choices
    server = serve_tls
    choices = [{}, { verify_depth: 5 }, { verify_depth: 6 }, { ciphers: AES128 }, { max_tls: "1.2" }]
    2.times { choices.each { |choice| secure_client(**choice).get(server.url) } }
    assert_equal choices.size, server.connection_count
  end

  private

  def server_with_cipher(name)
    context = TestCA.server_context(max: OpenSSL::SSL::TLS1_2_VERSION)
    context.ciphers = name
    serve(tls: context) { |connection| connection << response_bytes while connection.read_request }
  end
end
