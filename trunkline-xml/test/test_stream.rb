# frozen_string_literal: true

require_relative "test_helper"
require "rack/lint"
require "rack/mock"
require "trunkline/xml/stream"

class TestStream < Minitest::Test
  DOCUMENT = lambda do |xml|
    xml.instruct!
    xml.list { 400.times { |n| xml.item("text & #{n} #{"x" * 400}", id: n) } }
  end

  def test_chunks_of_a_size_that_make_the_document
    chunks = Trunkline::XML::Stream.new(indent: 2, &DOCUMENT).each.to_a
    expected = Builder::XmlMarkup.new(indent: 2)
    reference { DOCUMENT.call(expected) }
    assert_equal expected.target!, chunks.join
    assert chunks[0..-2].all? { |chunk| chunk.bytesize.between?(16 * 1024, 17 * 1024) }
    assert_equal [Encoding::UTF_8], chunks.map(&:encoding).uniq
  end

  def test_chunks_come_while_the_document_is_written
    events = []
    stream = Trunkline::XML::Stream.new do |xml|
      200.times { |n| xml.item("0123456789" * 10) && n == 199 && events << :last }
    end
    stream.each { events << :chunk }
    assert_equal :chunk, events.first
    assert_equal %i[last chunk], events.last(2)
  end

  def test_every_other_way_of_writing
    document = ->(xml) { xml << "x" * 20_000 << "y" && xml.text!("z") && xml.comment!("c" * 20_000) }
    assert_equal "#{"x" * 20_000}yz<!-- #{"c" * 20_000} -->", Trunkline::XML::Stream.new(&document).each.to_a.join
    xml_in_ruby = Class.new(Trunkline::XML::Builder)
    chunks = []
    target = Trunkline::XML::Chunks.new { |chunk| chunks << chunk }
    DOCUMENT.call(xml_in_ruby.new(target: target))
    assert_operator chunks.size, :>, 5
  end

  def test_is_a_body_as_rack_has_them
    body = Trunkline::XML::Stream.new(&DOCUMENT)
    application = ->(_env) { [200, { "content-type" => "application/xml" }, body] }
    response = Rack::MockRequest.new(Rack::Lint.new(application)).get("/")
    assert_equal body.each.to_a.join, response.body
    assert response.body.end_with?("</list>")
  end

  def test_misuse
    assert_match(/needs a block/, assert_raises(ArgumentError) { Trunkline::XML::Stream.new }.message)
    assert_match(/own target/, assert_raises(ArgumentError) { Trunkline::XML::Stream.new(target: []) {} }.message)
  end

  def test_an_error_ends_the_stream
    chunks = []
    assert_raises(IndexError) do
      Trunkline::XML::Stream.new { |xml| xml.a { xml.b("x" * 20_000) && raise(IndexError) } }.each { |chunk| chunks << chunk }
    end
    assert chunks.join.start_with?("<a><b>#{"x" * 20_000}")
  end
end
