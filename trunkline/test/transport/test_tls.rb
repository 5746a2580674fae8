# frozen_string_literal: true

require_relative "../test_helper"

# Which certificates are accepted, and the errors for the others.
class TestTLS < TrunklineTest
  stressable

  # identity of the server => text in the message of the error
  REFUSED = {
    expired: /expired/,
    not_yet_valid: /not yet valid/,
    self_signed: /self.signed/,
    unknown_ca: /(unable to get|unknown|not trusted|issuer)/,
    missing_intermediate: /(unable to get|unknown|not trusted|issuer)/,
    wrong_host: /localhost/
  }.freeze

  # The name in the message, where it is not the subject of the server's own certificate.
  SUBJECTS = { wrong_host: /wrong.(host|test)/ }.freeze

  REFUSED.each do |identity, reason|
    define_method(:"test_#{identity}_is_refused") do
      server = serve_tls(identity: identity)
      http = secure_client(server.url(host: "localhost"))
      error = assert_raises_with(Trunkline::CertificateError, phase: :tls, sent: :none, attempt: 1) { http.get("/") }
      assert_match reason, error.message
      assert_match(SUBJECTS.fetch(identity, identity.to_s.tr("_", " ")), error.message, "it names the certificate")
      assert_empty server.requests
    end
  end

  def test_the_error_names_the_expected_host_and_the_names_of_the_certificate
    server = serve_tls(identity: :wrong_host)
    error = assert_raises(Trunkline::CertificateError) { secure_client.get(server.url(host: "localhost")) }
    assert_match(/localhost/, error.message)
    assert_match(/wrong\.test/, error.message)
  end

  def test_an_unknown_authority_is_refused_by_default
    assert_raises(Trunkline::CertificateError) { client.get(serve_tls.url) }
  end

  def test_name_and_address
    assert_equal "ok", secure_client.get(serve_tls.url(host: "localhost")).body
    assert_equal "ok", secure_client.get(serve_tls.url(host: "127.0.0.1")).body
    assert_equal "ok", secure_client.get(serve_tls(host: "::1").url).body
  end

  def test_an_address_is_checked_as_an_address
    by_name_only = serve_tls(identity: :name_only)
    assert_raises(Trunkline::CertificateError) { secure_client.get(by_name_only.url(host: "127.0.0.1")) }
    assert_equal "ok", secure_client.get(serve_tls(identity: :ip_only).url(host: "127.0.0.1")).body
    assert_raises(Trunkline::CertificateError) { secure_client.get(serve_tls(identity: :ip_only).url(host: "localhost")) }
  end

  def test_any_name_will_do_without_verify_hostname
    url = serve_tls(identity: :wrong_host).url(host: "localhost")
    any_name = secure_client(verify_hostname: false)
    2.times { assert_equal "ok", any_name.get(url).body }
    assert_raises(Trunkline::CertificateError) { secure_client.get(url) }
    assert_raises(Trunkline::CertificateError) { client(verify_hostname: false).get(url) }
  end

  def test_a_store_of_authorities
    url = serve_tls.url(host: "localhost")
    assert_equal "ok", client(ca_store: TestCA.store).get(url).body
    error = assert_raises(Trunkline::CertificateError) { client(ca_store: OpenSSL::X509::Store.new).get(url) }
    assert_includes error.message, "ca_store"
    refused = assert_raises(Trunkline::InvalidRequest) { client(ca_store: TestCA.ca_file) }
    assert_includes refused.message, "OpenSSL::X509::Store"
  end

  # OpenSSL reads a directory's certificates when it needs them, also if the store belongs to another copy of OpenSSL.
  def test_a_store_of_a_directory
    url = serve_tls.url(host: "localhost")
    store = store_of(TestCA.ca_path)
    2.times { assert_equal "ok", client(ca_store: store).get(url).body }
    assert_raises(Trunkline::CertificateError) { client(ca_store: store_of(TestCA.empty_ca_path)).get(url) }
  end

  # JRuby's OpenSSL::X509::Store has no add_path.
  def store_of(folder)
    OpenSSL::X509::Store.new.tap do |store|
      RUBY_ENGINE == "jruby" ? Dir["#{folder}/*.0"].each { |file| store.add_file(file) } : store.add_path(folder)
    end
  end

  def test_the_flags_of_a_store
    url = serve_tls.url(host: "localhost")
    unchecked = TestCA.store.tap { |store| store.flags = OpenSSL::X509::V_FLAG_CRL_CHECK }
    assert_match(/CRL/, assert_raises(Trunkline::CertificateError) { client(ca_store: unchecked).get(url) }.message)
  end

  def test_the_common_name_is_not_used_as_host_name
    server = serve_tls(identity: :without_names)
    assert_raises(Trunkline::CertificateError) { secure_client.get(server.url(host: "localhost")) }
  end

  def test_names_case_wildcards_and_dots
    server = serve_tls(identity: :example)
    { "example.test" => true, "EXAMPLE.test" => true, "other.test" => true, "a.wild.test" => true,
      "example.test." => true, "wild.test" => false, "a.b.wild.test" => false, "notexample.test" => false }
      .each do |host, good|
      http = secure_client(connect_to: "127.0.0.1:#{server.port}")
      call = -> { http.get("https://#{host}/").body }
      good ? assert_equal("ok", call.call, host) : assert_raises(Trunkline::CertificateError, host, &call)
    end
  end

  # nginx reports the server name that it received, because JRuby's openssl does not report it to a server.
  def test_server_name_indication
    http = client(connect_to: "127.0.0.1:#{Nginx.port(:tls)}", verify: false)
    names = %w[example.test a.wild.test.].map { |host| http.get("https://#{host}/server_name").body }
    assert_equal %w[example.test a.wild.test], names
  end

  def test_no_server_name_for_an_address
    assert_equal "", client(verify: false).get("https://127.0.0.1:#{Nginx.port(:tls)}/server_name").body
  end

  def test_host_of_connect_to_stays_the_urls
    server = serve_tls(identity: :example)
    secure_client(connect_to: "127.0.0.1:#{server.port}").get("https://example.test/")
    assert_equal "example.test", server.requests.last["Host"]
  end

  def test_ca_file
    assert_equal "ok", client(ca_file: TestCA.ca_file).get(serve_tls.url).body
    assert_raises(Trunkline::CertificateError) { client(ca_file: TestCA.other_ca_file).get(serve_tls.url) }
  end

  def test_ca_path
    assert_equal "ok", client(ca_path: TestCA.ca_path).get(serve_tls.url).body
    assert_raises(Trunkline::CertificateError) { client(ca_path: TestCA.empty_ca_path).get(serve_tls.url) }
  end

  def test_a_ca_file_that_is_none
    [File.join(Dir.tmpdir, "no-such-file.pem"), __FILE__].each do |path|
      error = assert_raises(Trunkline::InvalidRequest, Trunkline::TLSError) { client(ca_file: path).get(serve_tls.url) }
      assert_includes error.message, path
    end
  end

  def test_verify_false
    http = client(verify: false)
    %i[expired self_signed wrong_host].each do |identity|
      assert_equal "ok", http.get(serve_tls(identity: identity).url(host: "localhost")).body
    end
  end

  def test_verification_is_not_skipped_by_a_session_of_an_unverified_connection
    server = serve_tls(identity: :unknown_ca, script: [[:read, response_bytes, :close]])
    loose = client(verify: false)
    2.times { assert_equal "ok", loose.get(server.url).body }
    assert_raises(Trunkline::CertificateError) { secure_client.get(server.url) }
    assert_raises(Trunkline::CertificateError) { opened(loose.with(verify: true)).get(server.url) }
  end

  def test_a_session_of_one_name_does_not_serve_another
    server = serve_tls(identity: :example, script: [[:read, response_bytes, :close]])
    http = secure_client(connect_to: "127.0.0.1:#{server.port}")
    2.times { http.get("https://example.test/") }
    assert_raises(Trunkline::CertificateError) { http.get("https://elsewhere.test/") }
  end

  def test_a_connection_is_not_shared_between_tls_options
    server = serve_tls
    loose = client(verify: false)
    strict = secure_client
    first = loose.get(server.url)
    second = strict.get(server.url)
    third = opened(strict.with(min_tls: "1.3")).get(server.url)
    assert_equal 3, [first, second, third].map { |response| response.connection.id }.uniq.size
  end

  def test_a_connection_is_not_shared_between_client_certificates
    server = serve_tls(context: { client_ca: true }) do |connection|
      connection << response_bytes(connection.socket.peer_cert.subject.to_s) while connection.read_request
    end
    bodies = %i[client second_client].flat_map do |identity|
      http = client_with(identity)
      Array.new(2) { http.get(server.url).body }
    end
    assert_equal ["first client"] * 2 + ["second client"] * 2, bodies.map { |subject| subject[/CN=([^,]+)/, 1] }
    assert_equal 2, server.connection_count
  end

  def test_a_client_certificate
    response = client_with(:client).get(Nginx.url("/client", :mutual))
    assert_includes response.body, "first client"
    assert_equal 400, secure_client.get(Nginx.url("/client", :mutual)).status
  end

  def test_resumption_does_not_depend_on_another_server
    good = Nginx.url("/protocol", :tls)
    bad = serve_tls(identity: :unknown_ca)
    http = secure_client(max_idle: 0)
    3.times do
      assert_match(/TLSv1/, http.get(good).body)
      assert_raises(Trunkline::CertificateError) { http.get(bad.url) }
    end
  end

  def test_a_server_that_refuses_the_client
    server = serve_tls(context: { client_ca: true })
    [secure_client, client_with(:stranger)].each do |http|
      error = assert_raises(Trunkline::TLSError, Trunkline::ConnectionClosed) { http.get(server.url) }
      assert_equal 1, error.attempt
    end
    assert_empty server.requests
  end

  def test_a_key_that_does_not_fit
    options = { client_cert: TestCA.certificate_file(:client), client_key: TestCA.key_file(:second_client) }
    server = serve_tls
    error = assert_raises(Trunkline::TLSError) { secure_client(**options).get(server.url("/x")) }
    reason = "client_key #{options[:client_key]}: is not the key of client_cert"
    assert_match(/\AGET .x at #{server.address} .*#{reason}/, error.message)
    assert_match(/nothing of the request was sent\z/, error.message)
    assert_equal [:none, :tls, server.url("/x")], [error.sent, error.phase, error.request.url]
    assert_nil error.attempt
  end

  def test_min_tls
    old = serve_tls(context: { max: OpenSSL::SSL::TLS1_2_VERSION })
    assert_equal "TLSv1.2", secure_client.get(old.url).connection.tls_version
    assert_raises_with(Trunkline::TLSError, phase: :tls, sent: :none) { secure_client(min_tls: "1.3").get(old.url) }
    assert_equal "TLSv1.3", secure_client(min_tls: "1.3").get(serve_tls.url).connection.tls_version
  end

  def test_tls_1_1_is_refused
    context = TestCA.server_context(max: OpenSSL::SSL::TLS1_1_VERSION)
    context.min_version = OpenSSL::SSL::TLS1_1_VERSION
    context.ciphers = "ALL:@SECLEVEL=0"
    assert_raises(Trunkline::TLSError) { secure_client.get(serve(tls: context).url) }
  end

  # nginx reports which sessions are resumed, because JRuby's openssl does not report it to a server. No other test has
  # a session for this name.
  { tls: "", tls12: "_with_tls_1_2" }.each do |listener, suffix|
    define_method(:"test_sessions_are_resumed#{suffix}") do
      http = client("https://#{listener}.sessions.test", connect_to: "127.0.0.1:#{Nginx.port(listener)}", verify: false)
      resumed = Array.new(4) { http.get("/session_reused", headers: { "Connection" => "close" }).body }
      assert_equal [".", "r", "r", "r"], resumed
    end
  end

  def test_keylog
    path = File.join(Dir.mktmpdir, "keys.log")
    return refused_by_openssl { secure_client(keylog: path).get(serve_tls.url) } unless KEYLOG

    secure_client(keylog: path).get(serve_tls.url)
    assert_match(/^CLIENT_TRAFFIC_SECRET_0 \h{64} \h+$/, File.read(path))
    assert_equal 0o600, File.stat(path).mode & 0o777
  ensure
    FileUtils.rm_rf(File.dirname(path))
  end

  def test_keylog_by_environment
    Dir.mktmpdir do |directory|
      path = File.join(directory, "keys.log")
      code = "Trunkline.get(ARGV[0] || #{serve_tls.url.inspect}, timeout: 5, ca_file: #{TestCA.ca_file.inspect})"
      result = Subprocess.run(code, { "SSLKEYLOGFILE" => path })
      next assert_match(/keylog .*needs a newer openssl for Ruby/, result.err) unless KEYLOG

      assert_predicate result.status, :success?, result.err
      assert_match(/^CLIENT_/, File.read(path))
    end
  end

  def test_a_server_that_speaks_no_tls
    server = serve(script: [["HTTP/1.1 400 Bad Request\r\n\r\n", :stall]])
    error = assert_raises_with(Trunkline::TLSError, phase: :tls, sent: :none) do
      client.get("https://127.0.0.1:#{server.port}/")
    end
    assert_includes error.message, "127.0.0.1:#{server.port}"
  end

  def test_a_server_that_leaves_in_the_handshake
    %i[close reset].each do |way|
      server = serve do |connection|
        connection.read_exactly(1) # of the ClientHello: a reset before that may make connect itself fail
        connection.public_send(way)
      end
      error = assert_raises(Trunkline::TLSError, Trunkline::ConnectionClosed) do
        client.get("https://127.0.0.1:#{server.port}/")
      end
      assert_facts error, phase: :tls, sent: :none
    end
  end

  def test_plain_http_to_a_tls_port
    response = client.get(Nginx.url("/small", :tls).sub("https", "http"))
    assert_equal 400, response.status
  end

  def test_nginx_with_each_version
    http = secure_client
    assert_match(/TLSv1\.3/, http.get(Nginx.url("/protocol", :tls)).body)
    assert_match(/TLSv1\.2/, http.get(Nginx.url("/protocol", :tls12)).body)
    assert_match(%r{\AHTTP/2}, http.get(Nginx.url("/protocol", :h2)).body)
  end

  # Under valgrind it takes more than half a minute.
  def test_a_large_body_over_tls
    assert_equal 200 * Nginx::MEBIBYTE, secure_client(timeout: 180).get(Nginx.url("/big", :tls)).body.bytesize
  end

  # A TLS record that the socket accepts only in part is neither lost nor left unsent.
  def test_a_large_body_to_a_server_that_does_not_read_at_once
    body = Random.new(1).bytes(8 * Nginx::MEBIBYTE)
    server = serve_tls do |connection|
      sleep 0.2
      whole = connection.read_request.body == body
      connection.write(Responses.response_bytes(whole ? "whole" : "broken", Connection: "close"))
    end
    http = secure_client
    responses = [http.post(server.url, body: body), *http.map([[:put, server.url, { body: body }]])]
    assert_equal %w[whole whole], responses.map(&:body)
  end

  def test_a_version_of_jruby_openssl_that_keeps_its_engine_elsewhere_is_refused
    skip "it is JRuby's" unless RUBY_ENGINE == "jruby"
    socket_io = Trunkline::Engine::Ruby::TLSSocketIOOnJRuby
    fields = socket_io.send(:remove_const, :FIELDS)
    socket_io.const_set(:FIELDS, %w[elsewhere])
    server = serve_tls
    error = assert_raises_with(Trunkline::TLSError, phase: :tls, sent: :none) { secure_client.get(server.url) }
    assert_match(/jruby-openssl \d[\d.]* is not one that can be used/, error.message)
  ensure
    socket_io&.send(:remove_const, :FIELDS)
    socket_io&.const_set(:FIELDS, fields)
  end

  private

  def client_with(identity)
    secure_client(client_cert: TestCA.certificate_file(identity), client_key: TestCA.key_file(identity))
  end
end
