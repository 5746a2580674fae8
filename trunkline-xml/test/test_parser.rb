# frozen_string_literal: true

require_relative "test_helper"
require "active_support/all"
require "active_support/xml_mini"
require "trunkline/xml/parser"

# The XmlMini backend must return REXML's results, and refuse with clear messages.
class TestParser < Minitest::Test
  include Child

  LIBXML2 = Trunkline::XML::Parser.respond_to?(:parse_libxml2, true)

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
    "<?xml version='1.0' encoding='ISO-8859-1'?><a b='\xe9'>\xe9</a>".b,
    # White space in a CDATA section is treated like any other white space; a character reference to it is content.
    "<a><![CDATA[ ]]><b/></a>", "<a><b/><![CDATA[\n]]></a>", "<a> <![CDATA[ ]]> <b/></a>", "<a><![CDATA[  ]]><b/></a>",
    "<a><![CDATA[ ]]></a>", "<a>&#32;<![CDATA[ ]]><b/></a>", "<a><![CDATA[]]><b/></a>",
    "<!DOCTYPE a [<!ENTITY e ' '>]><a>&e;<b/></a>",
    # A default in the DTD is not an attribute of the element.
    "<!DOCTYPE a [<!ATTLIST a b CDATA 'x'>]><a/>", "<!DOCTYPE a [<!ATTLIST a b CDATA 'x'>]><a b='y' c='z'/>",
    "<!DOCTYPE a [<!ATTLIST a b CDATA 'x'>\n<!ATTLIST c d CDATA 'y'>]>\n<a><c/><c d='1'/></a>",
    "<!DOCTYPE a [<!ATTLIST a xmlns CDATA 'u'>]><a/>", "<!DOCTYPE a [<!ATTLIST a xmlns CDATA 'u'>]><a xmlns='u'/>",
    "<!DOCTYPE a [<!ATTLIST a xmlns CDATA 'u'>]><a b=\"xmlns='u'\" c='d'/>",
    "<!DOCTYPE a [<!ATTLIST a xmlns CDATA 'u'>]><a\n\txmlns = 'u' b='c' />",
    "<!DOCTYPE a [<!ATTLIST a xmlns:s CDATA 'u'>]><a xmlns:t='u' xmlns:s='u'><s:b/></a>",
    "<!DOCTYPE a [<!-- <!ATTLIST a b CDATA 'x'> -->]><a><![CDATA[<!ATTLIST a b CDATA 'x'><!ENTITY e 'x'>]]></a>"
  ].freeze
  # Documents among these that Nokogiri reads differently: it lacks entities, and the origin of a blank text.
  BEYOND_NOKOGIRI = /<!DOCTYPE[^>]*<!ENTITY|&#(32|13);/

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
  private_constant :SAME, :BEYOND_NOKOGIRI, :REFUSED, :BOMB

  def parse(xml, **options) = Trunkline::XML::Parser.parse(xml, **options)

  SAME.each_with_index do |xml, index|
    next if !LIBXML2 && xml.b.match?(BEYOND_NOKOGIRI)

    define_method("test_same_as_rexml_#{index}") do
      expected = reference { ActiveSupport::XmlMini.with_backend("REXML") { ActiveSupport::XmlMini.parse(xml.dup) } }
      actual = ActiveSupport::XmlMini.with_backend("Trunkline") { ActiveSupport::XmlMini.parse(xml.dup) }
      assert_equal expected, actual
    end
  end

  def test_a_prefix_that_a_default_declares
    xml = "<!DOCTYPE a [<!ATTLIST a xmlns:s CDATA 'u'>]><a><s:b/></a>"
    return assert_raises(Trunkline::XML::ParseError) { parse(xml) } unless LIBXML2

    assert_equal({ "a" => { "b" => {} } }, parse(xml))
  end

  def test_refusals_say_where
    REFUSED.each do |xml, line|
      error = assert_raises(Trunkline::XML::ParseError, xml) { parse(xml) }
      assert_equal line, error.line, "#{xml.inspect}: #{error.message}" if LIBXML2
      assert_match(/\(line #{error.line}, column #{error.column}\)\z/, error.message)
    end
  end

  def test_expansion_bomb_is_refused_at_once
    before = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_raises(Trunkline::XML::ParseError) { parse(BOMB) }
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - before, :<, 5
  end

  # libxml2 2.11 and newer have separate messages for these errors.
  A_LOOP = /'e' refers to itself|entity reference loop/
  TOO_MUCH = /larger than allow|amplification/
  TOO_DEEP = /too deep|nesting depth/

  # An error in an entity is reported with the line of the reference, since the entity has no line in the document.
  {
    "a_bomb" => [BOMB, /expand|#{TOO_MUCH}/, 12],
    "a_bomb_in_an_attribute" => [BOMB.sub("<a>&a;", "<a>\n<b c='&a;'/>"), /expand|#{TOO_MUCH}/, 13],
    "a_loop" => ["<!DOCTYPE a [\n<!ENTITY e '\n\n&f;'>\n<!ENTITY f '&e;'>]>\n<a>\n&e;</a>", A_LOOP, 7],
    "a_loop_in_an_attribute" => ["<!DOCTYPE a [<!ENTITY e '&f;'><!ENTITY f '&e;'>]>\n<a>\n<b c='&e;'/></a>",
                                 A_LOOP, 3],
    "much_text" => ["<!DOCTYPE a [<!ENTITY e '#{"x" * 50_000}'>]><a>\n\n#{"&e;" * 5_000}</a>", TOO_MUCH, 3],
    "many_references" => ["<!DOCTYPE a [<!ENTITY e 'x'>]><a>#{"\n&e;" * 10_100}</a>", /too many entities/,
                          10_000..10_002],
    "deep_entities" => ["<!DOCTYPE a [#{Array.new(60) { |n| "<!ENTITY e#{n} '&e#{n + 1};'>" }.join}" \
                        "<!ENTITY e60 'x'>]>\n<a>&e0;</a>", TOO_DEEP, 2],
    "an_element_that_ends_wrongly" => ["<!DOCTYPE a [<!ENTITY e '<b>\n\n\n</c>'>]>\n<a>&e;</a>", /mismatch/, 5],
    "an_external_entity" => ["<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>\n" \
                             "<!ENTITY f '\n\n\n&e;'>]>\n<a>\n&f;</a>", /external/, 7]
  }.each do |what, (xml, message, line)|
    define_method("test_entities_that_are_refused_for_#{what}") do
      error = assert_raises(Trunkline::XML::ParseError) { parse(xml) }
      assert_kind_of Integer, error.column
      return assert_match(/declared entities/, error.message) unless LIBXML2

      assert_match message, error.message
      assert_operator line, :===, error.line, error.message
    end
  end

  def test_entities_beside_each_other_and_again_are_no_loop
    return unless LIBXML2

    xml = "<!DOCTYPE a [<!ENTITY e '&f;&f;'><!ENTITY f '&g;'><!ENTITY g 'x'>]><a b='&f;&e;'>&e;&g;&f;<c>&e;</c></a>"
    assert_equal({ "a" => { "b" => "xxx", "__content__" => "xxxx", "c" => { "__content__" => "xx" } } }, parse(xml))
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

  def test_limits_that_are_none
    [0, -1, 1.5, nil, "9"].each do |limit|
      error = assert_raises(ArgumentError) { parse("<a/>", max_depth: limit) }
      assert_equal "max_depth must be a positive Integer, was #{limit.inspect}", error.message
      assert_match(/max_bytes must be/, assert_raises(ArgumentError) { parse("<a/>", max_bytes: limit) }.message)
    end
    deep = ->(depth) { "#{"<a>" * depth}#{"</a>" * depth}" }
    assert_raises(Trunkline::XML::ParseError) { parse(deep.call(300), max_depth: 2**70) }
    assert_equal ["a"], parse(deep.call(256), max_depth: 2**70).keys
    in_c = Trunkline::XML::Parser.method(:parse_libxml2) if LIBXML2
    [0, -1, 257].each { |limit| assert_raises(ArgumentError) { in_c.call("<a/>", nil, limit) } } if LIBXML2
  end

  def test_nothing
    [nil, "", StringIO.new].each { |data| assert_equal({}, parse(data)) }
  end

  def test_streams_and_encodings
    assert_equal({ "a" => { "__content__" => "\u00e9" } }, parse(StringIO.new("<a>\u00e9</a>")))
    assert_equal({ "a" => { "__content__" => "\u00e9" } }, parse("<a>\u00e9</a>".encode("UTF-16LE")))
    document = "<?xml version='1.0' encoding='%s'?>\n<a b='\u20ac'>\u{1f600}</a>"
    %w[UTF-16BE UTF-16LE UTF-32BE UTF-32LE].product(["\ufeff", ""]) do |name, mark|
      xml = (mark + format(document, name[0, 6])).encode(name)
      [xml, xml.b, xml.dup.force_encoding("UTF-8"), StringIO.new(xml)].each do |data|
        assert_equal({ "a" => { "b" => "\u20ac", "__content__" => "\u{1f600}" } }, parse(data), [name, mark])
      end
    end
    strings = parse("<a b='c'>d</a>")["a"].flatten
    assert_equal [Encoding::UTF_8], strings.map(&:encoding).uniq
  end

  def test_bytes_that_are_not_in_the_encoding_are_refused_where_they_are
    wrong = "<a>\n\u20ac".encode("UTF-16BE").b << "\xD8\x00".b << "</a>".encode("UTF-16BE").b
    [wrong.dup.force_encoding("UTF-16BE"), "\xFE\xFF".b << wrong].each do |xml|
      error = assert_raises(Trunkline::XML::ParseError) { parse(xml) }
      assert_equal [2, 2], [error.line, error.column], error.message
      assert_match(/UTF-16BE/, error.message)
    end
    ["<?xml version='1.0' encoding='nonsense'?><a/>", "\ufeff".encode("UTF-16BE"), "\xFF\xFE"].each do |xml|
      assert_equal 1, assert_raises(Trunkline::XML::ParseError) { parse(xml) }.line, xml.inspect
    end
  end

  # The parser's own limits, which docs/parsing.md lists.
  def test_what_is_too_long
    name = "n" * 50_001
    value = "v" * 10_000_001
    ["<#{name}/>", "<a #{name}='1'/>", "<a b='#{value}'/>", "<a><![CDATA[#{value}]]></a>"].each do |xml|
      assert_match(/too (long|big)|exceeded/, assert_raises(Trunkline::XML::ParseError) { parse(xml) }.message)
    end
    assert_equal value.size, parse("<a>#{value}</a>").dig("a", "__content__").size
    assert_equal 9_000_000, parse("<a b='#{"v" * 9_000_000}'/>").dig("a", "b").size
    assert_equal ["n" * 49_000], parse("<#{"n" * 49_000}/>").keys
  end

  def test_what_has_no_end_in_a_dtd_is_refused_at_once
    before = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    ["<!--", "<?pi ", "<!ATTLIST a b CDATA ", "\"", "'", "<!ATTLIST a b CDATA '"].each do |start|
      assert_raises(Trunkline::XML::ParseError, start) { parse("<!DOCTYPE a [#{start * 100_001}") }
    end
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - before, :<, 10
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
