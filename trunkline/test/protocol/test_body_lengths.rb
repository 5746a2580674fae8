# frozen_string_literal: true

require_relative "../test_helper"
require "zlib"

# The length of the last response determines the buffer for the next body of the same request; the next body may have
# any other length.
class TestBodyLengths < TrunklineTest
  stressable

  LENGTHS = [5000, 5000, 4000, 1500, 9000, 9001, 0, 1, 70_000, 5000, 5001, 65_536, 65_537, 1023, 1024, 1024, 700].freeze

  def test_each_body_is_whole_when_lengths_change
    each_client(LENGTHS.map { |length| response_bytes(bytes_of(length)) }) do |get|
      LENGTHS.each { |length| assert_equal bytes_of(length), get.call.body.b, "of #{length} bytes" }
    end
  end

  def test_other_responses_than_the_expected_body
    usual = bytes_of(5000)
    packed = Zlib.gzip(bytes_of(3000))
    others = {
      chunked_response(usual, "more") => "#{usual}more",
      response_bytes(packed, "Content-Encoding" => "gzip") => bytes_of(3000),
      response_bytes("", status: "204 No Content").sub("Content-Length: 0\r\n", "") => "",
      response_bytes("no", status: "404 Not Found") => "no",
      response_bytes(usual, status: "500 Internal Server Error") => usual
    }
    script = others.keys.flat_map { |other| [response_bytes(usual), other] }
    each_client(script) do |get|
      others.each_value do |body|
        assert_equal usual, get.call.body.b
        assert_equal body, get.call.body.b
      end
    end
  end

  def test_the_usual_body_is_cut_short
    usual = response_bytes(bytes_of(5000))
    cut = usual.byteslice(0, usual.bytesize - 1)
    server = serve(script: [[:read, usual, :read, cut, :close], [:read, usual]])
    http = client(server.url)
    assert_equal 5000, http.get("/").body.bytesize
    assert_raises(Trunkline::TruncatedBody) { http.get("/") }
    assert_equal bytes_of(5000), http.get("/").body.b
  end

  def test_responses_do_not_share_bodies
    server = serve(script: [Array.new(3) { |number| [:read, response_bytes(number.to_s * 5000)] }.flatten])
    http = client(server.url)
    bodies = Array.new(3) { http.get("/").body }
    bodies.first << "changed"
    assert_equal(["#{"0" * 5000}changed", "1" * 5000, "2" * 5000], bodies.map(&:b))
  end

  # The head of the last response determines where in the buffer its body is expected.
  def test_heads_of_other_lengths_before_the_same_body
    usual = bytes_of(5000)
    heads = [{}, {}, { "X" => "1" }, {}, { "X" => "12" }, { "X" => "y" * 3000 }, {}, { "X" => "y" * 9000 }, {}]
    each_client(heads.map { |fields| response_bytes(usual, **fields) }) do |get|
      heads.each do |fields|
        response = get.call
        assert_equal usual, response.body.b
        assert_equal fields.fetch("X", ""), response["x"].to_s
      end
    end
  end

  def test_the_expected_response_split_at_any_byte
    usual = response_bytes(bytes_of(1200))
    head = usual.index("\r\n\r\n") + 4
    cuts = [1, 20, head - 2, head - 1, head, head + 1, head + 2, head + 600, usual.bytesize - 1]
    script = cuts.flat_map { |cut| [:read, usual.byteslice(0, cut), 0.01, usual.byteslice(cut..)] }
    server = serve(script: [[:read, usual, *script]])
    http = client(server.url)
    (cuts.size + 1).times { assert_equal bytes_of(1200), http.get("/").body.b }
    assert_equal 1, server.connection_count
  end

  def test_informational_responses_before_the_expected_one
    usual = response_bytes(bytes_of(5000))
    early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    each_client([usual, "HTTP/1.1 102 Processing\r\n\r\n#{usual}", usual, early + usual, usual]) do |get|
      5.times { assert_equal bytes_of(5000), get.call.body.b }
    end
    reported = []
    script = [[:read, usual, :read, early + usual]]
    http = client(serve(script: script).url, early_hints: ->(hints) { reported << hints["link"] })
    2.times { assert_equal bytes_of(5000), http.get("/").body.b }
    assert_equal ["</a>"], reported
  end

  def test_bytes_after_the_expected_body_are_not_the_next_response
    usual = response_bytes(bytes_of(5000))
    others = [response_bytes(bytes_of(4999)) + "!", usual + "x", usual + response_bytes("another's")]
    others.each do |other|
      server = serve(script: [[:read, usual, :read, other, :stall], [:read, response_bytes("fresh")]])
      http = client(server.url)
      assert_equal bytes_of(5000), http.get("/").body.b
      assert_equal other[/Content-Length: (\d+)/, 1].to_i, http.get("/").body.bytesize
      assert_equal "fresh", http.get("/").body
    end
  end

  def test_the_expected_length_does_not_raise_the_body_limit
    script = [[:read, response_bytes(bytes_of(5000)), :read, chunked_response(bytes_of(5001))]]
    http = client(serve(script: script).url, max_body_bytes: 5000)
    http.get("/")
    assert_raises(Trunkline::BodyTooLarge) { http.get("/") }
  end

  private

  # Yields a lambda that makes single calls, one after the other; then a lambda that makes the calls in batches.
  def each_client(answers)
    script = [answers.flat_map { |one| [:read, one] }]
    http = client(serve(script: script).url)
    yield -> { http.get("/") }
    many = client(serve(script: script).url)
    yield -> { many.map(["/"], concurrency: 1).first }
  end

  def bytes_of(length)
    Array.new(length) { |at| 97 + (at % 26) }.pack("C*")
  end
end
