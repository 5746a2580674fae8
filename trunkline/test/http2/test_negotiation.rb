# frozen_string_literal: true

require_relative "../support/http2/http2_test"

# The choice of the protocol: the client's offer, the server's choice, and the option http:.
class TestNegotiation < HTTP2Test
  def test_auto_uses_http2_when_the_server_selects_it
    response = secure_client.get(Nginx.url("/protocol", :h2))
    assert_equal "2", response.http_version
    assert_match(%r{\AHTTP/2\.0 TLSv1\.3}, response.body)
  end

  def test_auto_stays_with_http1_when_the_server_does_not_negotiate
    response = secure_client.get(serve_tls.url)
    assert_equal ["1.1", "ok"], [response.http_version, response.body]
  end

  def test_auto_stays_with_http1_when_the_server_chooses_it
    server = serve_tls(context: { alpn: %w[http/1.1] })
    assert_equal "1.1", secure_client.get(server.url).http_version
  end

  def test_auto_stays_with_http1_on_a_plain_connection
    assert_equal "1.1", client.get(serve.url).http_version
  end

  def test_h1_is_spoken_with_a_server_that_could_do_more
    assert_equal "1.1", secure_client(http: :h1).get(Nginx.url("/small", :h2)).http_version
  end

  { auto: %w[h2 http/1.1], h2: %w[h2] }.each do |choice, expected|
    define_method(:"test_#{choice}_offers_#{expected.join("_and_").tr("/.", "")}") do
      assert_equal expected, offered_by(choice)
    end
  end

  def test_h1_does_not_offer_http2
    refute_includes offered_by(:h1).to_a, "h2"
  end

  def test_h2_over_tls
    server = serve_frames(tls: true)
    assert_equal %w[2 ok], version_and_body(h2_client.get(server.url))
    assert_equal "https", server.streams.first.pseudo(":scheme")
  end

  def test_h2_on_http_is_prior_knowledge
    server = serve_frames
    assert_equal %w[2 ok], version_and_body(h2_client.get(server.url))
    assert_equal "http", server.streams.first.pseudo(":scheme")
  end

  def test_prior_knowledge_with_nginx_and_nghttpx
    [Nginx.url("/small", :h2c), Nghttpx.url("/small", :plain)].each do |url|
      assert_equal ["2", Nginx::SMALL], version_and_body(h2_client.get(url))
    end
  end

  def test_a_single_call_can_select_h2
    server = serve_frames
    assert_equal "2", client.get(server.url, http: :h2).http_version
  end

  def test_h2_with_a_server_that_does_not_negotiate
    assert_no_http2(serve_tls)
  end

  # nginx ends the handshake when it supports none of the offered protocols, as RFC 7301 requires; it does so since
  # 1.21.4.
  def test_h2_with_a_server_that_knows_only_http1
    error = assert_raises(Trunkline::Error) { h2_client.get(Nginx.url("/small", :tls)) }
    assert_match(%r{HTTP/2|ALPN}, error.message)
    assert_equal :none, error.sent
  end

  # Ruby's OpenSSL ends the handshake when the server's callback chooses none of the offered protocols.
  def test_h2_with_a_server_that_chooses_http1_unasked
    assert_no_http2(serve_tls(context: { alpn: %w[http/1.1] }))
  end

  def test_prior_knowledge_with_a_server_that_speaks_http1
    server = serve do |connection|
      connection.read_head_only
      connection << response_bytes("", status: "400 Bad Request", "Connection" => "close")
    end
    error = assert_raises(Trunkline::ProtocolError) { h2_client.get(server.url) }
    assert_match(%r{HTTP/2}, error.message)
  end

  def test_an_unknown_http_is_refused_before_anything_is_sent
    server = serve
    [-> { client(http: :h3) }, -> { client.get(server.url, http: "h2c") }].each do |call|
      error = assert_raises(Trunkline::InvalidRequest, &call)
      assert_match(/http: must be .*:auto.*:h1.*:h2.* got/, error.message)
    end
    assert_equal 0, server.connection_count
  end

  def test_connections_of_each_protocol_option_are_not_shared
    url = Nginx.url("/small", :h2)
    auto = secure_client
    versions = %i[auto h1 auto h1].map { |choice| auto.get(url, http: choice).http_version }
    assert_equal %w[2 1.1 2 1.1], versions
  end

  def test_request_line_and_host_become_pseudo_headers
    server = serve_frames
    h2_client.post(server.url("/path?query=1"), body: "x", headers: { "X-Upper" => "Kept", "Host" => "other.test" })
    stream = server.streams.first
    assert_equal(["POST", "/path?query=1", "http", "other.test"],
                 %w[:method :path :scheme :authority].map { |name| stream.pseudo(name) })
    assert_equal "Kept", stream.fields.assoc("x-upper").last
    assert_empty stream.fields.map(&:first).grep(/[A-Z]|\A(host|connection|transfer-encoding|keep-alive)\z/)
  end

  private

  def version_and_body(response) = [response.http_version, response.body]

  def offered_by(choice)
    offered = nil
    context = TestCA.server_context(:localhost, alpn: %w[http/1.1])
    choose = context.alpn_select_cb
    context.alpn_select_cb = ->(protocols) { choose.call(offered = protocols) }
    server = serve(tls: context)
    outcome { secure_client(http: choice).get(server.url) }
    offered
  end

  def assert_no_http2(server)
    error = assert_raises(Trunkline::Error) { h2_client.get(server.url) }
    assert_match(%r{HTTP/2|ALPN}, error.message)
    assert_equal :none, error.sent
    assert_empty server.requests
  end
end
