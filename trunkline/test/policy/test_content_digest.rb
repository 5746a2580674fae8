# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/call_styles"
require "pathname"
require "stringio"
require "tempfile"
require "trunkline/digest_field"

# The option content_digest: the field Content-Digest must contain the digest of the bytes that are sent.
class TestContentDigest < TrunklineTest
  include CallStyles

  TEXT = "a line of the file\n" * 10_000

  BODIES = {
    string: -> { { body: TEXT } }, empty: -> { { body: "" } }, json: -> { { json: { a: 1 } } },
    form: -> { { form: { a: "ä" } } }, string_io: -> { { body: StringIO.new(TEXT) } },
    part_of_an_io: -> { { body: StringIO.new(TEXT).tap { |io| io.seek(7) } } },
    file: -> { { body: Pathname.new(__FILE__) } }, array: -> { { body: ["one", "", "two"] } },
    multipart: -> { { multipart: { note: "x", file: Pathname.new(__FILE__) } } }
  }.freeze

  BODIES.each do |name, options|
    define_method(:"test_of_#{name}") do
      server = serve
      client(server.url, content_digest: true).post("/", **options.call)
      assert_digests server
    end
  end

  def test_each_call_style_sends_the_digest
    each_call_style do |style, call|
      server = serve
      options = { body: StringIO.new(TEXT), content_digest: true }
      assert_equal "ok", call.call(client(server.url), :put, "/", options).body, style
      assert_digests server
    end
  end

  def test_sha_512
    server = serve
    client(server.url).put("/", body: TEXT, content_digest: "sha-512")
    assert_digests server, "sha-512"
  end

  def test_the_digest_is_sent_again_after_a_redirect_and_a_retry
    moved = redirect("/there", status: "307 Temporary Redirect")
    busy = response_bytes("", status: "503 Busy")
    server = serve(script: [[:read, moved, :read, busy, :read, response_bytes, :stall]])
    http = client(server.url, follow: 1, retry: { backoff: 0..0 }, content_digest: true)
    assert_equal "ok", http.put("/", body: StringIO.new(TEXT)).body
    assert_digests server, requests: 3
  end

  def test_a_redirect_that_drops_the_body_drops_the_digest
    server = serve(script: [[:read, redirect("/there", status: "303 See Other"), :read, response_bytes, :stall]])
    client(server.url, follow: 1, content_digest: true).post("/", body: TEXT)
    assert_equal %w[POST GET], server.requests.map(&:verb)
    assert_nil server.requests.last["Content-Digest"]
  end

  def test_the_digest_is_of_the_body_that_a_middleware_replaced
    server = serve
    upcase = ->(request, forward) { forward.call(request.with(body: request.body.upcase)) }
    client(server.url, use: upcase, content_digest: true).put("/", body: TEXT)
    assert_digests server
    assert_equal TEXT.upcase, server.requests.first.body
  end

  def test_a_signature_sees_it
    signer = Class.new do
      def sign(request) = { "X-Signed" => request.headers["content-digest"] }
      def retry?(_) = false
    end
    server = serve
    client(server.url, auth: signer.new, content_digest: true).put("/", body: TEXT)
    assert_digests server
    assert_equal server.requests.first["Content-Digest"], server.requests.first["X-Signed"]
  end

  def test_without_a_body_and_with_a_field_of_the_caller
    server = serve
    http = client(server.url, content_digest: true)
    http.get("/")
    http.put("/", body: "x", headers: { "Content-Digest" => "sha-256=:YQ==:" })
    assert_equal([nil, "sha-256=:YQ==:"], server.requests.map { |request| request["Content-Digest"] })
  end

  def test_a_body_that_cannot_be_read_twice_is_refused_before_sending
    server = serve
    http = client(server.url, content_digest: true)
    reader, = IO.pipe.each { |pipe| opened(pipe) }
    [["a"].each, -> {}, reader].each do |body|
      each_call_style do |style, call|
        error = call.call(http, :put, "/", body: body)
        assert_instance_of Trunkline::InvalidRequest, error, style
        assert_includes error.message, "content_digest: needs a body that can be read twice"
      end
    end
    assert_equal 0, server.connection_count
  end

  def test_unknown_algorithms_are_refused
    [5, "md5", :sha256, {}].each do |value|
      error = assert_raises(Trunkline::InvalidRequest) { client("http://a.test", content_digest: value) }
      assert_match(/\Acontent_digest: must be true \(sha-256\), "sha-256", "sha-512" or false, got/, error.message)
    end
  end

  private

  def assert_digests(server, algorithm = "sha-256", requests: 1)
    assert_equal requests, server.requests.size
    server.requests.each do |request|
      digest = Trunkline::DigestField::ALGORITHMS.fetch(algorithm).digest(request.body)
      assert_equal Trunkline::DigestField.format(algorithm, digest), request["Content-Digest"]
    end
  end
end
