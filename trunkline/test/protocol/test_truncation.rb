# frozen_string_literal: true

require_relative "../test_helper"

# A response that ends too soon is an error, never a short body.
class TestTruncation < TrunklineTest
  stressable

  CASES = {
    content_length_short: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789",
    no_byte_of_the_body: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
    inside_a_chunk: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    after_a_chunk: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
    inside_a_chunk_size: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5",
    without_the_last_line: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n",
    inside_the_trailers: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: 1"
  }.freeze

  # Yields (bytes, how the server closes, whether over TLS).
  def self.each_way
    CASES.each do |name, bytes|
      %i[close reset].each { |way| yield name, bytes, way, false }
      %i[close close_abruptly].each { |way| yield name, bytes, way, true }
    end
  end

  each_way do |name, bytes, way, tls|
    define_method(:"test_#{name}_when_the_server_does_#{way}#{"_over_tls" if tls}") do
      script = [[:read, bytes, 0.05, way], [:read, response_bytes("whole")]]
      server = serving(tls, script)
      http = secure_client(server.url)
      expected = way == :reset ? [Trunkline::TruncatedBody, Trunkline::ConnectionClosed] : [Trunkline::TruncatedBody]
      error = assert_raises(*expected) { http.get("/") }
      assert_facts error, phase: :read, sent: :all, attempt: 1
      assert_equal "whole", http.get("/").body
      assert_equal 2, server.requests.size
    end
  end

  def test_the_message_reports_received_and_expected_bytes
    server = serve(script: [[:read, CASES[:content_length_short], :close]])
    error = assert_raises(Trunkline::TruncatedBody) { client(server.url).get("/") }
    assert_match(/\b10\b/, error.message)
    assert_match(/\b100\b/, error.message)
  end

  def test_a_close_delimited_body_over_tls_needs_close_notify
    head = "HTTP/1.1 200 OK\r\n\r\nhalf of it"
    clean = serve_tls(script: [[:read, head, :close]])
    response = secure_client(clean.url).get("/")
    assert_equal "half of it", response.body
    assert_predicate response, :length_unknown?

    cut = serve_tls(script: [[:read, head, :close_abruptly]])
    assert_raises_with(Trunkline::TruncatedBody, sent: :all) { secure_client(cut.url).get("/") }
  end

  def test_a_counted_body_over_tls_needs_no_close_notify
    [response_bytes("whole"), chunked_response("whole")].each do |bytes|
      server = serve_tls(script: [[:read, bytes, :close_abruptly]])
      assert_equal "whole", secure_client(server.url).get("/").body
    end
  end

  def test_a_reset_close_delimited_body
    server = serve(script: [[:read, "HTTP/1.1 200 OK\r\n\r\nhalf", 0.05, :reset]])
    assert_raises(Trunkline::TruncatedBody, Trunkline::ConnectionClosed) { client(server.url).get("/") }
  end

  def test_no_byte_at_all
    %i[close reset].each do |way|
      server = serve(script: [[:read, way]])
      error = assert_raises_with(Trunkline::ConnectionClosed, sent: :all, attempt: 1) { client(server.url).get("/") }
      assert_equal :first_byte, error.phase
      assert_attempts 1, server
    end
  end

  HINTS = "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"
  HEADS = ["H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r",
           "#{HINTS}HTTP/1.1 200 OK\r\nContent-Le"].freeze

  # (how the server closes, whether over TLS, the error's message)
  CLOSE_KINDS = [[:close, false, "connection ended"], [:reset, false, "connection ended"],
                 [:close, true, "connection ended"], [:close_abruptly, true, "without TLS close_notify"]].freeze

  CLOSE_KINDS.each do |way, tls, words|
    define_method(:"test_an_end_inside_the_head_when_the_server_does_#{way}#{"_over_tls" if tls}") do
      HEADS.each do |bytes|
        server = serving(tls, [[:read, bytes, 0.05, way]])
        error = assert_raises(Trunkline::TruncatedBody, bytes.inspect) { secure_client(server.url).get("/") }
        assert_facts error, phase: :read, sent: :all, attempt: 1
        assert_match(/#{words} .*before the head was complete/, error.message)
        assert_attempts 1, server
      end
    end

    define_method(:"test_the_message_tells_a_cut_body_when_the_server_does_#{way}#{"_over_tls" if tls}") do
      CASES.each_value do |bytes|
        server = serving(tls, [[:read, bytes, 0.05, way]])
        error = assert_raises(Trunkline::TruncatedBody) { secure_client(server.url).get("/") }
        assert_match(/before the body was complete \(\d+ .*bytes/, error.message)
      end
    end
  end

  def test_a_cut_body_while_it_is_streamed
    server = serve(script: [[:read, CASES[:content_length_short], 0.05, :close]])
    seen = +""
    error = assert_raises(Trunkline::TruncatedBody) { client(server.url).get("/") { |chunk| seen << chunk } }
    assert_match(/before the body was complete \(10 of 100 bytes came\)/, error.message)
    assert_equal "0123456789", seen
  end

  def test_an_end_between_early_hints_and_the_response
    %i[close reset].each do |way|
      server = serve(script: [[:read, HINTS, 0.05, way]])
      assert_raises_with(Trunkline::ConnectionClosed, sent: :all, attempt: 1) { client(server.url).get("/") }
      assert_attempts 1, server
    end
  end

  private

  def serving(tls, script) = tls ? serve_tls(script: script) : serve(script: script)
end
