# frozen_string_literal: true

require "pathname"
require_relative "../test_helper"

# The forms of client_cert: and client_key:.
class TestClientCertificates < TrunklineTest
  PASSWORD = "c4n4ry password"

  def setup
    super
    @folder = Pathname(Dir.mktmpdir)
    # The body is the common name of the client's certificate, as the server sees it.
    @server = serve_tls(context: { client_ca: true }) do |connection|
      while connection.read_request
        connection << response_bytes(connection.socket.peer_cert.subject.to_s[/CN=([^,]+)/, 1])
      end
    end
    identity = TestCA.identity(:client)
    @certificate = identity.certificate
    @key = identity.key
    @chain = [@certificate, *identity.issuers]
    @text = @chain.map(&:to_pem).join
  end

  def teardown
    super
  ensure
    FileUtils.remove_entry(@folder)
  end

  def file(name, bytes) = (@folder / name).tap { |path| path.binwrite(bytes) }
  # JRuby's openssl has no private_to_pem; its to_pem writes the whole key.
  def pem(key, *encryption) = key.public_send(key.respond_to?(:private_to_pem) ? :private_to_pem : :to_pem, *encryption)
  def encrypted(key = @key) = pem(key, OpenSSL::Cipher.new("aes-256-cbc"), PASSWORD)
  def pkcs12(password = PASSWORD) = OpenSSL::PKCS12.create(password, "name", @key, @certificate, @chain.drop(1))

  # No text of the error contains a credential, or the beginning of a PEM file or of a DER key.
  def refused(**options)
    error = assert_raises(Trunkline::InvalidRequest) { secure_client(**options) }
    [error.message, error.inspect, error.cause.inspect].each { |text| refute_match(/c4n4ry|MIG|MII|BEGIN/, text) }
    error.message
  end

  def assert_known(**options)
    assert_equal "first client", secure_client(**options).get(@server.url).body
  end

  def test_objects_of_openssl
    assert_known(client_cert: @chain, client_key: @key)
    assert_known(client_cert: [@certificate.to_pem, *@chain.drop(1)], client_key: @key)
  end

  def test_text
    assert_known(client_cert: @text, client_key: pem(@key))
    assert_known(client_cert: @text + @key.to_pem)
    assert_known(client_cert: file("both.pem", @key.to_pem + @text))
    assert_known(client_cert: file("cert.pem", @text), client_key: @key.to_pem)
  end

  def test_encrypted_keys
    certificate = file("cert.pem", @text)
    key = file("key.pem", encrypted)
    assert_known(client_cert: certificate, client_key: key, client_key_password: PASSWORD)
    assert_known(client_cert: @text, client_key: encrypted, client_key_password: PASSWORD)
    assert_known(client_cert: @text + encrypted, client_key_password: PASSWORD)
    traditional = @key.to_pem(OpenSSL::Cipher.new("aes-128-cbc"), PASSWORD)
    assert_known(client_cert: @text, client_key: traditional, client_key_password: PASSWORD)
    known = secure_client(client_cert: certificate, client_key: @key.to_pem, client_key_password: PASSWORD)
    assert_equal "first client", known.get(@server.url).body, "a password that is not needed does no harm"
  end

  def test_a_wrong_password_and_none
    certificate = file("cert.pem", @text)
    [encrypted, file("key.pem", encrypted)].each do |key|
      message = refused(client_cert: certificate, client_key: key, client_key_password: "c4n4ry wrong")
      assert_match(/\Aclient_key_password: is not the password/, message)
    end
    assert_match(/is encrypted; give client_key_password:/, refused(client_cert: certificate, client_key: encrypted))
    ["", 5, "c4n4ry\0", :c4n4ry].each do |password|
      message = refused(client_cert: certificate, client_key: encrypted, client_key_password: password)
      assert_match(/\Aclient_key_password: must be a String/, message)
    end
    assert_match(/client_key_password: needs client_cert:/, refused(client_key_password: PASSWORD))
  end

  def test_an_encrypted_file_without_a_password
    http = secure_client(client_cert: file("cert.pem", @text), client_key: file("key.pem", encrypted))
    error = assert_raises(Trunkline::TLSError) { http.get(@server.url) }
    assert_match(/client_key .*key\.pem: is encrypted, and client_key_password is not given/, error.message)
    assert_equal :none, error.sent
  end

  def test_an_encrypted_file_that_changes_is_read_again
    key = file("key.pem", encrypted)
    http = secure_client(client_cert: file("cert.pem", @text), client_key: key, client_key_password: PASSWORD)
    assert_equal "first client", http.get(@server.url, headers: { "Connection" => "close" }).body
    other = TestCA.identity(:second_client)
    key.binwrite(encrypted(other.key))
    file("cert.pem", [other.certificate, *other.issuers].map(&:to_pem).join)
    assert_equal "second client", http.get(@server.url).body
  end

  def test_pkcs12
    assert_known(client_cert: pkcs12)
    assert_known(client_cert: pkcs12.to_der, client_key_password: PASSWORD)
    assert_known(client_cert: file("client.p12", pkcs12.to_der), client_key_password: PASSWORD)
    assert_known(client_cert: file("client.PFX", pkcs12("").to_der).to_s)
  end

  def test_pkcs12_that_cannot_be_opened
    path = file("client.p12", pkcs12.to_der)
    [path, pkcs12.to_der].each do |given|
      [{}, { client_key_password: "c4n4ry wrong" }].each do |password|
        assert_match(/\Aclient_cert: its PKCS#12 cannot be read/, refused(client_cert: given, **password))
      end
    end
    assert_match(/\Aclient_cert: its PKCS#12/, refused(client_cert: file("x.p12", "c4n4ry")))
  end

  def test_invalid_certificates_and_keys_are_refused
    assert_match(/\Aclient_cert: /, refused(client_cert: @key.to_pem))
    assert_match(/\Aclient_cert: /, refused(client_cert: [], client_key: @key))
    assert_match(/\Aclient_key: is needed/, refused(client_cert: @certificate))
    public_key = OpenSSL::X509::Certificate.new(@certificate.to_der).public_key
    assert_match(/not private/, refused(client_cert: @text, client_key: public_key))
    broken = "-----BEGIN PRIVATE KEY-----\nc4n4ry\n-----END PRIVATE KEY-----\n"
    assert_match(/\Aclient_key: must be/, refused(client_cert: @text, client_key: broken))
    assert_match(/\Aclient_cert: .*PKCS#12/, refused(client_cert: 5))
  end

  def test_a_file_without_a_key
    certificate = file("certificate.pem", @text)
    cases = [[{ client_cert: certificate }, "client_cert #{certificate}", "; give client_key"],
             [{ client_cert: @text, client_key: certificate }, "client_key #{certificate}", ""]]
    cases.each do |options, place, hint|
      message = assert_raises(Trunkline::TLSError) { secure_client(**options).get(@server.url) }.message
      assert_includes message, "#{place}: holds no private key that can be read#{hint})"
    end
  end

  # OpenSSL reports a key of another type with a different message.
  def test_a_key_of_another_certificate
    others = [OpenSSL::PKey::RSA.new(2048), OpenSSL::PKey::EC.generate("prime256v1")]
    others.pop if RUBY_ENGINE == "jruby" && RUBY_VERSION < "3.4" # JRuby cannot read the EC key that it writes
    others.each do |other|
      [other, file("other.pem", other.to_pem)].each do |key|
        http = secure_client(client_cert: @text, client_key: key)
        error = assert_raises(Trunkline::TLSError) { http.get(@server.url) }
        assert_match(/client_key \S+.*: is not the key of client_cert\)/, error.message)
      end
    end
  end

  def test_keys_and_passwords_are_not_shown
    http = secure_client(client_cert: @text, client_key: encrypted, client_key_password: PASSWORD)
    refute_match(/c4n4ry|BEGIN|MI/, http.inspect)
  end

  def test_connections_are_not_shared_between_texts
    other = TestCA.identity(:second_client)
    assert_known(client_cert: @chain, client_key: @key)
    second = secure_client(client_cert: [other.certificate, *other.issuers], client_key: other.key)
    assert_equal "second client", second.get(@server.url).body
    first = secure_client.with(client_cert: @chain, client_key: @key)
    assert_equal "first client", first.get(@server.url).body
    assert_equal 2, @server.connection_count
  end
end
