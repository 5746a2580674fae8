# frozen_string_literal: true

require_relative "../test_helper"
require "support/certificate_request_server"

# Apache and IIS request a client's certificate when a path needs one: after they have received the request.
class TestLateCertificates < TrunklineTest
  KNOWN = { client_cert: TestCA.certificate_file(:client), client_key: TestCA.key_file(:client) }.freeze
  # How a server of that TLS version requests a certificate. Java's TLS 1.3 does not support such a request.
  REQUEST_COMMANDS = { "-tls1_2" => :ask_by_renegotiation, "-tls1_3" => :ask_after_handshake }.freeze
  SUPPORTED_COMMANDS = RUBY_ENGINE == "jruby" ? REQUEST_COMMANDS.slice("-tls1_2").freeze : REQUEST_COMMANDS
  # Java sends no data correctly during a renegotiation, so the client opens another connection, on which the server has
  # not requested a certificate yet.
  ASKED_IDLE = RUBY_ENGINE == "jruby" ? "unknown" : "known"

  def teardown
    @server&.stop
    super
  end

  def asking(version, **steps)
    @server&.stop
    @server = CertificateRequestServer.new(version, **steps)
    @server.url
  end

  def test_a_certificate_is_shown
    SUPPORTED_COMMANDS.each do |version, way|
      http = secure_client(**KNOWN)
      url = asking(version, before: [way])
      first, second = Array.new(2) { http.get(url) }
      assert_equal %w[known known], [first, second].map(&:body), version
      assert_predicate second.connection, :reused?, version
    end
  end

  def test_many_at_once
    SUPPORTED_COMMANDS.each do |version, way|
      url = asking(version, before: [way])
      assert_equal %w[known] * 3, secure_client(**KNOWN).map([url] * 3, concurrency: 1).map(&:body), version
    end
  end

  def test_a_client_without_a_certificate_sends_none
    SUPPORTED_COMMANDS.each do |version, way|
      assert_equal "unknown", secure_client.get(asking(version, before: [way])).body, version
    end
  end

  def test_a_certificate_request_on_an_idle_connection
    SUPPORTED_COMMANDS.each do |version, way|
      http = secure_client(**KNOWN)
      url = asking(version, after: [way])
      assert_equal ["unknown", ASKED_IDLE], Array.new(2) { http.get(url).body.tap { sleep 0.1 } }, version
    end
  end

  def test_a_server_may_renegotiate_for_each_request
    http = secure_client
    url = asking("-tls1_2", before: %i[renegotiate renegotiate])
    assert_equal [200] * 6, Array.new(6) { http.get(url).status }
    assert_predicate http.get(url).connection, :reused?
  end

  def test_a_server_cannot_renegotiate_for_ever
    url = asking("-tls1_2", before: [:renegotiate] * 100)
    error = assert_raises(Trunkline::TLSError) { secure_client.get(url) }
    assert_facts error, phase: :first_byte, sent: :all
  end
end
