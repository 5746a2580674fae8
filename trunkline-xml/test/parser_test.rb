# frozen_string_literal: true

require_relative "test_helper"
require "active_support/all"
require "active_support/xml_mini"
require "trunkline/xml/parser"

# The XmlMini backend: REXML's answers, and clear refusals.
class ParserTest < Minitest::Test
  include Child

  SAME = [
    "<a/>", "<a></a>", "<a> </a>", "<a b='c'/>", "<a b='c'> </a>", "<a>text</a>", "<a>  <b/>  </a>", "<a>x<b/>y</a>",
    "<a><b/><b/></a>", "<a><b>1</b><c/><b>2</b><b>3</b></a>", "<a b='1'><b>2</b></a>", "<a><__content__/>hi</a>",
    "<a><![CDATA[<&>]]></a>", "<a><![CDATA[]]></a>", "<a>x<![CDATA[y]]>z</a>", "<a>x<!-- c -->y<?pi z?></a>",
    "<a xmlns='u' xmlns:s='v' s:q='1'><s:b s:c='2'/></a>", "<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;</a>",
    "<a>&#13;\n<b/></a>", "<a>&#32;<b/></a>", "<a>\u00a0<b/></a>", "<a> \u00e9 <b/></a>", "<a b='&amp;&#10;&lt;'/>",
    "<?xml version='1.0' encoding='UTF-8'?>\n<!-- c -->\n<a/>\n<!-- d -->", "<!DOCTYPE a><a/>", "\u{feff}<a/>",
    "<!DOCTYPE a SYSTEM 'http://localhost/none.dtd'><a/>", "<!DOCTYPE a [<!ENTITY e 'bar'>]><a>&e; &e;</a>",
    "<a>\n  good\n  <b>\n    one <![CDATA[two]]><![CDATA[three]]>\n  </b>\n  night\n  <c type='file'>   </c>\n</a>\n",
    "<a>\r\n</a>", "<caf\u00e9 \u00fc='\u20ac'>\u{1f600}</caf\u00e9>", "<a><b><c><d>deep</d></c></b></a>",
    "<?xml version='1.0' encoding='ISO-8859-1'?><a b='\xe9'>\xe9</a>".b
  ].freeze

  REFUSED = {
    "<a>" => 1, "<a><b></a>" => 1, "<a/><b/>" => 1, "<a>&none;</a>" => 1, "<s:a/>" => 1, " " => 1,
    "text" => 1, "<a b='1' b='2'/>" => 1,
    "<a>\n<b>\n</c>" => 3, "<a>\0</a>" => 1, "<a b=c/>" => 1, "<1/>" => 1, "<a>]]></a>" => 1, "<a><!-- -- --></a>" => 1,
    "<a>\xff</a>" => 1, "<!DOCTYPE a [<!ENTITY e '&e;'>]><a>&e;</a>" => 1, "<a>\n&#0;</a>" => 2,
    "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>" => 1,
    "<!DOCTYPE a [<!ENTITY % e SYSTEM 'file:///etc/passwd'> %e;]><a/>" => 1,
    "<!DOCTYPE a SYSTEM 'http://localhost/none.dtd'><a>&e;</a>" => 1
  }.freeze

  BOMB = <<~XML.freeze
    <!DOCTYPE a [
      #{("a".."h").map { |name| "<!ENTITY #{name} \"#{"&#{name.succ};" * 10}\">" }.join("\n")}
      <!ENTITY i "#{"x" * 30}">
    ]>
    <a>&a;</a>
  XML
  private_constant :SAME, :REFUSED, :BOMB

  def parse(xml, **options) = Trunkline::XML::Parser.parse(xml, **options)

  SAME.each_with_index do |xml, index|
    define_method("test_same_as_rexml_#{index}") do
      skip "declared entities need libxml2" if xml.include?("<!ENTITY") && !libxml2?
      skip "Nokogiri does not tell where a blank text came from" if xml.match?(/&#(32|13);/) && !libxml2?
      expected = reference { ActiveSupport::XmlMini.with_backend("REXML") { ActiveSupport::XmlMini.parse(xml.dup) } }
      actual = ActiveSupport::XmlMini.with_backend("Trunkline") { ActiveSupport::XmlMini.parse(xml.dup) }
      assert_equal expected, actual
    end
  end

  def test_refusals_say_where
    REFUSED.each do |xml, line|
      error = assert_raises(Trunkline::XML::ParseError, xml) { parse(xml) }
      next unless libxml2?

      assert_equal line, error.line, "#{xml.inspect}: #{error.message}"
      assert_match(/\(line #{line}, column #{error.column}\)\z/, error.message)
    end
  end

  def test_expansion_bomb_is_refused_at_once
    before = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_raises(Trunkline::XML::ParseError) { parse(BOMB) }
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - before, :<, 5
  end

  def test_quadratic_expansion_is_refused
    xml = "<!DOCTYPE a [<!ENTITY e \"#{"x" * 50_000}\">]><a>#{"&e;" * 5_000}</a>"
    assert_raises(Trunkline::XML::ParseError) { parse(xml) }
  end

  def test_limits
    assert_equal({ "a" => { "a" => {} } }, parse("<a><a/></a>", max_depth: 2))
    assert_match(/too deep/, assert_raises(Trunkline::XML::ParseError) do
      parse("<a><a><a/></a></a>", max_depth: 2)
    end.message)
    assert_match(/larger than 10 bytes/, assert_raises(Trunkline::XML::ParseError) do
      parse("<a>12345678</a>", max_bytes: 10)
    end.message)
    assert_match(/larger than 10 bytes/,
                 assert_raises(Trunkline::XML::ParseError) do
                   parse(StringIO.new("<a>12345678</a>"), max_bytes: 10)
                 end.message)
    deep = "#{"<a>" * 101}#{"</a>" * 101}"
    assert_raises(Trunkline::XML::ParseError) { ActiveSupport::XmlMini.with_backend("Trunkline") { ActiveSupport::XmlMini.parse(deep) } }
  end

  def test_nothing
    [nil, "", StringIO.new].each { |data| assert_equal({}, parse(data)) }
  end

  def test_streams_and_encodings
    assert_equal({ "a" => { "__content__" => "\u00e9" } }, parse(StringIO.new("<a>\u00e9</a>")))
    assert_equal({ "a" => { "__content__" => "\u00e9" } }, parse("<a>\u00e9</a>".encode("UTF-16LE")))
    strings = parse("<a b='c'>d</a>")["a"].flatten
    assert_equal [Encoding::UTF_8], strings.map(&:encoding).uniq
  end

  def test_values_can_be_changed
    hash = parse("<a b='c'>d</a>")
    hash["a"]["b"] << "!"
    assert_equal "c!", hash["a"]["b"]
  end

  def test_hash_from_xml
    ActiveSupport::XmlMini.with_backend("Trunkline") do
      assert_equal({ "a" => { "n" => 1, "list" => %w[x y] } },
                   Hash.from_xml("<a><n type='integer'>1</n><list type='array'><i>x</i><i>y</i></list></a>"))
      assert_equal({ "r" => { "a" => 1 } }, Hash.from_xml({ a: 1 }.to_xml(root: "r")))
      file = Hash.from_xml("<a><b type='file' name='c.png' content_type='image/png'>ZA==</b></a>").dig("a", "b")
      assert_equal ["c.png", "image/png", "d"], [file.original_filename, file.content_type, file.read]
    end
  end

  def test_random_documents_as_rexml_reads_them
    random = Random.new(Minitest.seed)
    rounds(300).times do
      xml = Trunkline::XML::Builder.new(indent: random.rand(3))
      grow(xml, random, 0)
      document = xml.target!
      expected = reference { ActiveSupport::XmlMini.with_backend("REXML") { ActiveSupport::XmlMini.parse(document) } }
      assert_equal expected, parse(document), document
    end
  end

  def test_parsers_in_threads
    results = Array.new(4) do
      Thread.new do
        Array.new(rounds(50)) do |n|
          parse("<a><b>#{n}</b></a>")["a"]["b"]["__content__"]
        end
      end
    end.map(&:value)
    assert_equal [Array.new(rounds(50), &:to_s)], results.uniq
  end

  def test_works_beside_nokogiri_of_another_version
    skip "AddressSanitizer does not let a library be loaded apart" if ENV["LD_PRELOAD"].to_s.include?("asan")
    program = "require \"nokogiri\"; require \"trunkline/xml/parser\"; require \"trunkline/xml\"; " \
              "#{STRESS} xml = \"<a><b/></a>\"; " \
              "#{rounds(100)}.times { Trunkline::XML::Parser.parse(xml); Nokogiri::XML(xml).to_xml }; print :fine"
    [program, program.sub(/\A(.*?); (.*?);/, '\2; \1;')].each do |code|
      assert_equal "fine", ruby("-e", "$stderr.reopen($stdout)", "-e", code)
    end
  end

  private

  def libxml2? = Trunkline::XML::Parser.respond_to?(:parse_libxml2, true)

  def grow(xml, random, depth)
    attributes = Array.new(random.rand(3)) do
      ["a#{random.rand(4)}", ["v", "<&>", "\u00e9", ""].sample(random: random)]
    end.to_h
    xml.tag!("t#{random.rand(3)}", attributes) do
      random.rand(4).times do
        case random.rand(6)
        when 0 then xml.text!(["text", " ", "a & b", "\n\t", "\u20ac"].sample(random: random))
        when 1 then xml.cdata!("c <>")
        when 2 then xml.comment!("note")
        else grow(xml, random, depth + 1) if depth < 5
        end
      end
    end
  end
end
