# frozen_string_literal: true

require_relative "../../test_helper"
require "net/http"
require "openssl"
require "zlib"
require "trunkline/net_http"

# Malformed responses that Net::HTTP accepts are accepted after install!, too, with the same result, in one piece and in
# several.
class TestNetHTTPTolerance < TrunklineTest
  OK = "HTTP/1.1 200 OK\r\n"
  TWO = "Content-Length: 2\r\n\r\nok"
  CHUNKED = "#{OK}Transfer-Encoding: chunked\r\n\r\n".freeze
  TEXT = "hello" * 50
  GZIP = Zlib.gzip(TEXT)

  def self.coded(body, *codings, more: "")
    fields = codings.map { |coding| "Content-Encoding: #{coding}\r\n" }.join
    "#{OK}#{fields}#{more}Content-Length: #{body.bytesize}\r\n\r\n".b + body.b
  end

  ANSWERS = {
    folded_lines: "#{OK}X-A: one \r\n two\r\n\tthree\r\nX-B:\r\n b\r\n \r\n#{TWO}",
    a_fold_before_the_first_field: "#{OK} X-A: 1\r\n#{TWO}",
    bare_line_feeds: "HTTP/1.1 200 OK\nX-A: 1\n 2\nContent-Length: 2\n\nok",
    bare_line_feeds_in_chunks: "#{CHUNKED}2\nok\r\n3;a=b\nand\r\n0\n\n",
    blanks_behind_a_chunk_size: "#{CHUNKED}2 \r\nok\r\n0\r\n\r\n",
    long_extensions: "#{CHUNKED}2;#{"a" * 400}\r\nok\r\n0\r\n\r\n",
    large_trailers: "#{CHUNKED}2\r\nok\r\n0\r\nX-A: #{"a" * 20_000}\r\n\r\n",
    other_transfer_codings: "#{OK}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    an_identity_transfer_coding: "#{OK}Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok and more",
    a_length_beside_chunks: "#{OK}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    chunks_of_old_servers: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    an_end_by_closing: "#{OK}X-A: 1\r\n\r\nuntil the end",
    an_end_by_closing_of_old_servers: "HTTP/1.0 200 OK\r\n\r\nuntil the end",
    an_end_by_closing_of_gzip: "#{OK}Content-Encoding: gzip\r\n\r\n".b + GZIP,
    nothing_and_an_end_by_closing: "#{OK}\r\n",
    a_head_that_ends_by_closing: "#{OK}X-A: 1\r\n",
    a_head_that_ends_in_a_value: "#{OK}Content-Length: 0\r\nX-A: 1",
    a_head_that_ends_in_a_line_end: "#{OK}X-A: 1\r",
    a_switch_of_protocols: "HTTP/1.1 101 Switching Protocols\r\n\r\n#{OK}#{TWO}",
    blanks_in_the_status_line: "HTTP/1.1  200  Fine\r\n#{TWO}",
    no_reason: "HTTP/1.1 200\r\n#{TWO}",
    an_empty_reason: "HTTP/1.1 200 \r\n#{TWO}",
    small_letters: "http/1.1 200 ok\r\n#{TWO}",
    a_blank_before_the_colon: "#{OK}X-A : 1\r\nContent-Length : 2\r\n\r\nok",
    odd_names: "#{OK}X A(b)=c/d: 1\r\n#{TWO}",
    controls_in_a_value: "#{OK}X-A: a\x01b\x00c\r\n#{TWO}",
    more_than_was_announced: "#{OK}#{TWO} and more",
    brotli_without_accept_encoding: coded("\x0B\x02\x80hello\x03", "br"),
    zstd_without_accept_encoding: coded("what it is", "zstd"),
    gzip: coded(GZIP, "gzip"),
    gzip_in_capitals: coded(GZIP, "GZIP"),
    gzip_by_its_old_name: coded(GZIP, "x-gzip"),
    gzip_twice: coded(Zlib.gzip(GZIP), "gzip, gzip"),
    gzip_among_others: coded(GZIP, "gzip", "identity"),
    gzip_that_is_zlib: coded(Zlib.deflate(TEXT), "gzip"),
    gzip_with_bytes_behind: coded("#{GZIP}rest".b, "gzip"),
    gzip_of_two_members: coded(GZIP + GZIP, "gzip"),
    a_part_of_gzip: coded(GZIP[0, 9], "gzip", more: "Content-Range: bytes 0-8/90\r\n"),
    deflate: coded(Zlib.deflate(TEXT), "deflate"),
    deflate_that_is_gzip: coded(GZIP, "deflate"),
    no_coding: coded("text", ""),
    coding_none: coded("text", "none")
  }.freeze

  def teardown
    Trunkline::NetHTTP.uninstall!
    super
  end

  ANSWERS.each do |name, bytes|
    define_method(:"test_#{name}") do
      server = serve { |connection| connection.read_request && (connection << bytes) }
      plain, ours = both(server)
      refute_kind_of Class, plain.first, "Net::HTTP takes it"
      assert_equal plain, ours
    end
  end

  def test_a_connection_is_not_reused_after_a_malformed_response
    server = serve { |connection| connection << "#{OK}X-A : 1\r\n#{TWO}" while connection.read_request }
    Trunkline::NetHTTP.install!
    3.times { assert_equal "ok", Net::HTTP.get(URI(server.url)) }
    assert_equal 3, server.connection_count
  end

  # Trunkline's own client stays strict.
  def test_the_native_client_refuses
    server = serve { |connection| connection.read_request && (connection << ANSWERS[:a_length_beside_chunks]) }
    assert_raises(Trunkline::InvalidResponse) { client.get(server.url) }
  end

  # name of the certificate => [the server's name, whether Ruby accepts it]
  NAMES = {
    { names: nil, common_name: "internal.test" } => { "internal.test" => true, "INTERNAL.test" => true,
                                                      "other.test" => false, "127.0.0.1" => false },
    { names: nil, common_name: "*.internal.test" } => { "a.internal.test" => true, "a.b.internal.test" => false,
                                                        "internal.test" => false },
    { names: nil, common_name: "127.0.0.1" } => { "127.0.0.1" => true, "localhost" => false },
    { names: nil, common_name: "*.test" } => { "www.test" => true, "www.internal.test" => false },
    { names: nil, common_name: "internal" } => { "internal" => true },
    { names: "email:a@internal.test", common_name: "internal.test" } => { "internal.test" => true },
    { names: "DNS:other.test", common_name: "internal.test" } => { "internal.test" => false, "other.test" => true },
    { names: "IP:127.0.0.1", common_name: "internal.test" } => { "internal.test" => false, "127.0.0.1" => true },
    { names: "DNS:127.0.0.1", common_name: "internal.test" } => { "127.0.0.1" => true },
    { names: "DNS:w*.test", common_name: "internal.test" } => { "www.test" => true, "w.test" => false,
                                                                "xww.test" => false }
  }.freeze

  NAMES.each do |certificate, servers|
    define_method(:"test_a_certificate_for_#{certificate.values.compact.join("_and_").tr("*:.@", "_")}") do
      identity = TestCA.send(:issue_leaf, :named, **certificate)
      context = OpenSSL::SSL::SSLContext.new.tap { |made| TestCA.send(:present, made, identity) }
      server = serve(tls: context) { |connection| connection.read_request && (connection << response_bytes) }
      servers.each do |name, taken|
        # JRuby's own Net::HTTP also accepts the certificates of other hosts, so it is no reference.
        results = (RUBY_ENGINE == "jruby" ? [true] : [false, true]).map { |install| tls_result(server, name, install) }
        assert_equal [taken ? "200" : OpenSSL::SSL::SSLError], results.uniq, name
      end
    end
  end

  private

  def both(server)
    [false, true].map do |install|
      install ? Trunkline::NetHTTP.install! : Trunkline::NetHTTP.uninstall!
      [whole(server), in_pieces(server)]
    end
  end

  def whole(server)
    response = session(server).get("/", "Connection" => "close")
    [response.code, response.message, response.to_hash, response.body, response.body.encoding]
  rescue StandardError => error
    [error.class]
  end

  def in_pieces(server)
    text = +""
    response = session(server).request_get("/", "Connection" => "close") do |begun|
      begun.read_body { |piece| text << piece }
    end
    [response.code, response.to_hash, text.b]
  rescue StandardError => error
    [error.class]
  end

  def session(server)
    Net::HTTP.new("127.0.0.1", server.port, nil).tap do |http|
      http.max_retries = 0
      http.read_timeout = 5
    end
  end

  def tls_result(server, name, install)
    install ? Trunkline::NetHTTP.install! : Trunkline::NetHTTP.uninstall!
    http = Net::HTTP.new(name, server.port, nil)
    http.ipaddr = "127.0.0.1"
    http.use_ssl = true
    http.ca_file = TestCA.ca_file
    http.get("/", "Connection" => "close").code
  rescue StandardError => error
    error.class
  end
end
