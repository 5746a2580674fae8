# frozen_string_literal: true

require_relative "test_helper"
require "action_view"
require "trunkline/xml/rails"

class TestTemplateCompiler < Minitest::Test
  Compiler = Trunkline::XML::Rails::TemplateCompiler

  FEED = <<~RUBY
    xml.instruct!
    xml.feed "xmlns" => "http://www.w3.org/2005/Atom" do
      xml.title "News & more", type: "text"
      xml.updated nil
      xml.tag!(:"dc:creator", "caf\u00e9")
      xml.comment! "static"
      [1, 2].each do |n|
        xml.entry do
          xml.kind "post"
          xml.number n
          xml.flag true
        end
      end
    end
  RUBY

  def test_same_document_when_compiled
    compiled = Compiler.compile(FEED)
    assert_equal Trunkline::XML.native?, compiled.include?("write_lines")
    builders = [Trunkline::XML::Builder, Class.new(Trunkline::XML::Builder), Builder::XmlMarkup]
    expected = render(FEED, Builder::XmlMarkup.new(indent: 2))
    builders.first(2).each { |builder| assert_equal expected, render(compiled, builder.new(indent: 2)) }
    assert_equal render(FEED, Builder::XmlMarkup.new), render(compiled, Trunkline::XML::Builder.new)
  end

  def test_same_document_when_the_encoding_has_changed
    source = FEED.sub("xml.instruct!", 'xml.instruct! :xml, encoding: "ISO-8859-1"')
    expected = render(source, Builder::XmlMarkup.new(indent: 2))
    assert_equal expected.b, render(Compiler.compile(source), Trunkline::XML::Builder.new(indent: 2)).b
  end

  def test_lines_keep_their_numbers
    source = "xml.a \"1\"\nxml.b \"2\"\n\nraise \"here\"\n"
    compiled = Compiler.compile(source)
    assert_equal source.lines.size, compiled.lines.size
    error = assert_raises(RuntimeError) { render(compiled, Trunkline::XML::Builder.new) }
    assert_match(/template:4/, error.backtrace.first)
  end

  def test_untouched_when_something_is_not_literal
    ["xml.a b", "xml.a \"\#{b}\"", "xml.a \"1\" if b", "xml.a { xml.c }", "xml.a(\n\"1\"\n)", "b.a \"1\"",
     "xml.text! \"1\"", "xml.target!", "x = <<~TEXT\n  xml.a \"1\"\nTEXT\n", "xml.a \"1\"; b", "xml.a \"1\" # why",
     "@xml.a \"1\"",
     "def a(&)\n  xml.a(&)\nend\n", "xml.a \"\\u{110000}\"", "xml.a(&:b)", "xml.a(b:)", "c &&\n  xml.a(\"1\")\n",
     "xml.instance_eval \"1\"", "xml.a(*[1])", "xml.a(**{})", "xml.a :b, __FILE__"].each do |source|
      assert_equal source, Compiler.compile(source)
    end
  end

  # Lines of a template, each rendered within a document, compiled and uncompiled.
  AS_WITHOUT = {
    "a method as the block" => "xml.block_pass(&:inside)",
    "a method as the block of tag!" => "xml.tag!(:block_pass, { a: 1 }, &:inside)",
    "no block, said so" => "xml.block_pass(&nil)",
    "a value that only looks like a literal" => "hash = 5\nxml.shorthand(hash:)",
    "another one" => "line = \"mine\"\nxml.shorthand(line:)",
    "the second part of a condition" => "none = nil\nnone &&\n  xml.a(\"1\")\nxml.b(\"2\")",
    "the second part of another" => "some = true\nsome ||\n  xml.a(\"1\")\nxml.b(\"2\")",
    "a call to what a call gives" => "size = xml.target!.size\nxml.a(\"1\")\n  .clear if size",
    "a call on the next line" => "xml.a(\"1\")\n  .clear\nxml.b(\"2\")",
    "lines in branches" => "if 1 > 2\n  xml.a \"1\"\n  xml.b \"2\"\nelse\n  xml.c \"3\"\n  xml.d \"4\"\nend",
    "a value that is assigned" => "kept =\n  xml.a(\"1\")\nxml.same kept.equal?(xml.target!)",
    "lines of a lambda" => "later = lambda do\n  xml.a \"1\"\n  xml.b \"2\"\nend\nxml.c \"3\"\nlater.call"
  }.freeze

  AS_WITHOUT.each do |what, source|
    define_method("test_same_document_with_#{what.tr(" !,", "_")}") do
      template = "xml.outer do\n#{source}\nend\n"
      expected = render(template, Builder::XmlMarkup.new(indent: 2))
      assert_equal expected, render(Compiler.compile(template), Trunkline::XML::Builder.new(indent: 2))
    end
  end

  def test_builders_that_have_changed_make_the_calls
    compiled = Compiler.compile("xml.a \"1\"\nxml.b \"2\"\n")
    shouting = Class.new(Trunkline::XML::Builder) { def _escape(text) = super.upcase + "!" }
    singleton = Trunkline::XML::Builder.new
    def singleton.text!(text) = super("#{text}!")
    [shouting.new, singleton].each { |xml| assert_equal "<a>1!</a><b>2!</b>", render(compiled, xml) }
  end

  def test_any_other_xml_makes_the_calls
    calls = []
    other = Object.new
    other.define_singleton_method(:method_missing) { |*arguments| calls << arguments }
    other.define_singleton_method(:respond_to_missing?) { |*| true }
    other.define_singleton_method(:target!) { nil }
    render(Compiler.compile("xml.a \"1\"\nxml.b \"2\"\n"), other)
    assert_equal [[:a, "1"], [:b, "2"]], calls
  end

  def test_untouched_when_xml_is_another
    ["xml = other\nxml.a \"1\"\n", "feed do |xml|\n  xml.a \"1\"\nend\n", "def x(xml)\n  xml.a \"1\"\nend\n",
     "feed do |entry, xml|\n  xml.a \"1\"\nend\n", "xml, y = 1\nxml.a \"1\"\n"].each do |source|
      assert_equal source, Compiler.compile(source)
    end
  end

  def test_untouched_when_it_does_not_parse
    assert_equal "xml.a (", Compiler.compile("xml.a (")
  end

  private

  def render(source, xml)
    xml.target!
    binding.eval(source, "template", 1)
    xml.target!
  end
end
