# frozen_string_literal: true

require_relative "../../../../test_helper"
require "http/2"
require "trunkline/engine/ruby/field_section"
require "trunkline/engine/ruby/http2/header_compression"

# The HPACK decoder of the engine in Ruby: the examples of RFC 7541, and invalid header blocks.
class TestHeaderDecoder < Minitest::Test
  HTTP2 = Trunkline::Engine::Ruby::HTTP2

  # RFC 7541 C.6: Huffman-coded, with a dynamic table of 256 bytes, from which the oldest fields are evicted.
  BLOCKS = {
    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3" =>
      [%w[:status 302], %w[cache-control private], ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
       %w[location https://www.example.com]],
    "4883640effc1c0bf" =>
      [%w[:status 307], %w[cache-control private], ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
       %w[location https://www.example.com]],
    "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960" \
    "d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007" =>
      [%w[:status 200], %w[cache-control private], ["date", "Mon, 21 Oct 2013 20:13:22 GMT"],
       %w[location https://www.example.com], %w[content-encoding gzip],
       ["set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"]]
  }.freeze

  def test_the_examples_of_the_rfc
    decoder = HTTP2::HeaderDecoder.new
    decoded(decoder, "\x3f\xe1\x01".b) # sets the dynamic table to 256 bytes
    BLOCKS.each { |block, fields| assert_equal fields, decoded(decoder, [block].pack("H*")) }
  end

  def test_a_name_with_capitals_is_kept_as_it_came
    decoder = HTTP2::HeaderDecoder.new
    assert_equal [%w[X-A b]], decoded(decoder, "\x40\x03X-A\x01b".b)
    assert_equal [%w[X-A b]], decoded(decoder, "\xbe".b)
  end

  BROKEN = { index_0: "\x80", an_index_beyond_the_table: "\xbe", a_larger_table: "\x3f\xe2\x1f",
             another_table_within_a_block: "\x88\x20", an_endless_integer: "\x7f#{"\xff" * 1000}",
             a_text_that_is_cut: "\x40\x05x-a", a_text_of_megabytes: "\x40\x01a\x7f\x80\x80\x80\x01",
             huffman_of_no_character: "\x40\x01a\x84\xff\xff\xff\xff", nothing_behind_a_name: "\x40\x01a" }.freeze

  BROKEN.each do |name, block|
    define_method(:"test_#{name}") do
      error = assert_raises(HTTP2::Violation) { decoded(HTTP2::HeaderDecoder.new, block.b) }
      assert_equal %i[HTTP2_PROTOCOL COMPRESSION_ERROR], [error.code, error.error_code]
    end
  end

  def test_credentials_are_never_indexed
    encoder = HTTP2::HeaderEncoder.new
    fields = [%w[:method GET], %w[authorization secret], %w[x-a b]]
    blocks = Array.new(2) { encoder.encode(fields) }
    # RFC 7541 6.2.3: a literal that is never indexed; its name is in Huffman code.
    assert_equal [true, true], blocks.map { |block| block.include?("\x10\x89\x1D".b) }
    decoder = HTTP2::HeaderDecoder.new
    blocks.each { |block| assert_equal fields.sort, decoded(decoder, block).sort }
  end

  private

  def decoded(decoder, block)
    fields = []
    decoder.decode(block) { |name, value| fields << [name, value] }
    fields
  end
end
