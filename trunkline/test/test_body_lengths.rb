# frozen_string_literal: true

require_relative "test_helper"
require "zlib"

# The last answer's length says where the next body of the same request goes; what comes may be of any other.
class TestBodyLengths < TrunklineTest
  stressable

  LENGTHS = [5000, 5000, 4000, 1500, 9000, 9001, 0, 1, 70_000, 5000, 5001, 65_536, 65_537, 1023, 1024, 1024, 700].freeze

  def test_each_body_is_whole_when_lengths_change
    each_client(LENGTHS.map { |length| answer(bytes_of(length)) }) do |get|
      LENGTHS.each { |length| assert_equal bytes_of(length), get.call.body.b, "of #{length} bytes" }
    end
  end

  def test_what_comes_instead_of_the_usual_body
    usual = bytes_of(5000)
    packed = Zlib.gzip(bytes_of(3000))
    others = {
      chunked_answer(usual, "more") => "#{usual}more",
      answer(packed, "Content-Encoding" => "gzip") => bytes_of(3000),
      answer("", status: "204 No Content").sub("Content-Length: 0\r\n", "") => "",
      answer("no", status: "404 Not Found") => "no",
      answer(usual, status: "500 Internal Server Error") => usual
    }
    script = others.keys.flat_map { |other| [answer(usual), other] }
    each_client(script) do |get|
      others.each_value do |body|
        assert_equal usual, get.call.body.b
        assert_equal body, get.call.body.b
      end
    end
  end

  def test_the_usual_body_is_cut_short
    usual = answer(bytes_of(5000))
    cut = usual.byteslice(0, usual.bytesize - 1)
    server = serve(script: [[:read, usual, :read, cut, :close], [:read, usual]])
    http = client(server.url)
    assert_equal 5000, http.get("/").body.bytesize
    assert_raises(Trunkline::TruncatedBody) { http.get("/") }
    assert_equal bytes_of(5000), http.get("/").body.b
  end

  def test_bodies_are_not_shared_by_answers
    server = serve(script: [Array.new(3) { |number| [:read, answer(number.to_s * 5000)] }.flatten])
    http = client(server.url)
    bodies = Array.new(3) { http.get("/").body }
    bodies.first << "changed"
    assert_equal(["#{"0" * 5000}changed", "1" * 5000, "2" * 5000], bodies.map(&:b))
  end

  private

  # As single calls, one after the other, and in a batch.
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
