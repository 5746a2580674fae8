# frozen_string_literal: true

require_relative "../../support/unit_test"
require "trunkline/websocket/handshake"

class TestWebSocketHandshake < UnitTest
  Answer = Struct.new(:status, :fields, :http_version) do
    def [](name) = fields[name]
  end

  # The example of RFC 6455 1.3
  KEY = "dGhlIHNhbXBsZSBub25jZQ=="
  ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
  GOOD = { "upgrade" => "websocket", "connection" => "Upgrade", "sec-websocket-accept" => ACCEPT }.freeze

  def handshake(**options)
    Trunkline::WebSocket::Handshake.new(**options).tap { |one| one.instance_variable_set(:@key, KEY) }
  end

  def fault(changes, status: 101, **options) = handshake(**options).fault(Answer.new(status, GOOD.merge(changes)))

  def test_request_headers
    fields = Trunkline::WebSocket::Handshake.new(protocols: %w[a b], extensions: "x").fields
    assert_equal ["13", "x", "a, b"],
                 fields.values_at("Sec-WebSocket-Version", "Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol")
    assert_equal 16, fields["Sec-WebSocket-Key"].unpack1("m0").bytesize
    assert_equal %w[Sec-WebSocket-Version Sec-WebSocket-Key], Trunkline::WebSocket::Handshake.new.fields.keys
    refute_equal fields["Sec-WebSocket-Key"], Trunkline::WebSocket::Handshake.new.fields["Sec-WebSocket-Key"]
  end

  def test_accepted_responses
    assert_nil fault({})
    assert_nil fault({ "upgrade" => "WebSocket", "connection" => "keep-alive, UPGRADE" })
    assert_nil fault({ "sec-websocket-protocol" => "b" }, protocols: %w[a b])
    assert_nil fault({}, protocols: "a")
  end

  def test_over_http2
    accepted = Answer.new(200, { "sec-websocket-protocol" => "b" }, "2")
    assert_nil handshake(protocols: "b").fault(accepted)
    assert_includes handshake.fault(accepted), "protocol"
    assert_includes handshake.fault(Answer.new(101, GOOD, "2")), "answered 101, and not 200"
  end

  def test_refused_responses
    assert_includes fault({}, status: 200), "200"
    { "upgrade" => ["h2c", nil], "connection" => ["close", "upgraded", nil],
      "sec-websocket-accept" => [ACCEPT.downcase, nil] }.each do |name, values|
      values.each { |value| assert_match(/#{name.split("-").last}/i, fault({ name => value }), value.inspect) }
    end
    assert_includes fault({ "sec-websocket-protocol" => "c" }, protocols: %w[a b]), "protocol"
    assert_includes fault({ "sec-websocket-protocol" => "A" }, protocols: %w[a]), "protocol"
    assert_includes fault({ "sec-websocket-protocol" => "a" }), "protocol"
  end

  def test_names_of_protocols
    [["a b"], [""], %w[a a], [1], "a, b", ["a\r\nX: y"]].each do |names|
      assert_refused("protocols") { Trunkline::WebSocket::Handshake.new(protocols: names) }
    end
  end
end
