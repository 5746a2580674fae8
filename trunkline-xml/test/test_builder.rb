# frozen_string_literal: true

require_relative "test_helper"

# The behaviour that Builder's users rely on, as examples; test_differential.rb compares the rest.
class TestBuilder < Minitest::Test
  Builder = Trunkline::XML::Builder

  def xml(**options) = (@xml ||= Builder.new(**options))
  def written = xml.target!

  def test_names_are_tags
    xml.to_s
    xml.class
    xml.p("text")
    xml.send(:ns)
    xml._indent
    xml._escape("own")
    assert_equal "<to_s/><class/><p>text</p><send:ns/><_indent/><_escape>own</_escape>", written
  end

  def test_operators_are_tags
    xml["a"]
    xml.__send__(:+, 1)
    xml.x = 2
    assert_equal "<[]>a</[]><+>1</+><x=>2</x=>", written
  end

  def test_texts_and_attributes
    xml.a("one", { b: 1, "c" => nil }, "two", d: true, e: :"<raw>")
    assert_equal %(<a b="1" c="" d="true" e="<raw>">onetwo</a>), written
  end

  def test_later_attributes_replace_earlier_ones_in_place
    xml.a({ b: 1, c: 2 }, { b: 3 })
    assert_equal %(<a b="3" c="2"/>), written
  end

  def test_namespace_by_symbol
    xml.soap :Envelope, "xmlns:soap" => "urn:x" do
      xml.tag!(:soap, :Body, "text")
    end
    assert_equal %(<soap:Envelope xmlns:soap="urn:x"><soap:Body>text</soap:Body></soap:Envelope>), written
  end

  def test_nothing_and_an_empty_text_differ
    xml.a
    xml.b nil
    xml.c ""
    xml.d {}
    xml.e({})
    assert_equal "<a/><b/><c></c><d></d><e/>", written
  end

  def test_explicit_nil
    xml = Builder.new(explicit_nil_handling: true)
    xml.a nil
    xml.b(nil, c: 1)
    assert_equal %(<a nil="true"/><b nil="true" c="1"/>), xml.target!
    assert_equal true, xml.explicit_nil_handling?
  end

  def test_text_and_block_do_not_mix
    error = assert_raises(ArgumentError) { xml.a("text") { xml.b } }
    assert_match(/cannot mix/, error.message)
    assert_equal "", written
  end

  def test_indentation
    xml = Builder.new(indent: 2, margin: 1)
    xml.a do
      xml.b "text"
      xml.text! "loose"
      xml << "<raw/>"
      xml.c {}
      xml.comment! "note"
    end
    assert_equal "  <a>\n    <b>text</b>\nloose<raw/>    <c>\n    </c>\n    <!-- note -->\n  </a>\n", xml.target!
  end

  def test_end_tags_are_written_however_a_block_ends
    assert_raises(IndexError) { xml.a { xml.b { raise IndexError } } }
    catch(:out) { xml.c { throw :out } }
    xml.d { break }
    [1].each { xml.e { next } }
    assert_equal "<a><b></b></a><c></c><d></d><e></e>", written
    xml.f
    assert written.end_with?("<f/>")
  end

  def test_return_values
    xml = Builder.new(indent: 1)
    target = xml.target!
    assert_same target, xml.a
    assert_same target, xml.tag!(:b) {}
    assert_same target, xml.text!("x")
    assert_same target, xml << "x"
    assert_same target, xml.comment!("x")
    assert_nil Builder.new.comment!("x")
    assert_equal false, xml.nil?
  end

  def test_escaping_of_text_and_attributes
    xml.a("<&>\"'\n\r\t", b: "<&>\"'\n\r\t")
    assert_equal "<a b=\"&lt;&amp;&gt;&quot;'&#10;&#13;\t\">&lt;&amp;&gt;\"'\n\r\t</a>", written
  end

  def test_characters_that_xml_has_no_place_for
    xml.a "\0\u0085\u0081\uffff\ufdd0"
    assert_equal "<a>\ufffd\u2026\u0081\ufffd\ufdd0</a>", written
  end

  def test_encodings_of_texts
    ["caf\xE9", "caf\u00e9".b, "caf\xE9".b, "caf\u00e9".encode("ISO-8859-1"),
     "caf\u00e9".encode("UTF-16LE")].each do |text|
      assert_equal "<a>caf\u00e9</a>", Builder.new.a(text.dup)
    end
    assert_raises(EncodingError) { xml.a "\xff".dup.force_encoding("US-ASCII") }
    assert_equal "<a>", written
  end

  def test_text_must_be_a_string
    assert_raises(NoMethodError) { xml.text! nil }
    assert_raises(NoMethodError) { xml.text! 5 }
    assert_raises(TypeError) { xml << nil }
    assert_equal "", written
  end

  def test_output_that_is_not_based_on_ascii_takes_no_attribute
    [[:version, ""], [:version, "1.0"], [:standalone, ""]].each do |name, value|
      ours, builders = [Builder, ::Builder::XmlMarkup].map do |builder|
        fragments = []
        assert_raises(EncodingError) do
          builder.new(target: fragments).instruct!(:xml, name => value, encoding: "UTF-16LE")
        end
        fragments
      end
      assert_equal builders, ours
    end
  end

  def test_output_in_another_encoding
    xml.instruct! :xml, encoding: "ISO-8859-1"
    xml.a "caf\u00e9 \u20ac"
    assert_equal Encoding::UTF_8, written.encoding
    assert_includes written, "<a>caf&#233; &#8364;</a>"
    xml.b "caf\u00e9"
    assert_equal Encoding::ISO_8859_1, written.encoding
  end

  def test_instructions
    xml.instruct!
    xml.instruct! :xml, standalone: "yes", version: "1.1", other: 1
    xml.instruct! :"xml-stylesheet", href: "a.xsl"
    xml.declare! :DOCTYPE, :html, "public"
    xml.cdata! "a]]>b"
    xml.cdata_value! :c, "d"
    assert_equal %(<?xml version="1.0" encoding="UTF-8"?>) +
                 %(<?xml version="1.1" encoding="UTF-8" standalone="yes" other="1"?>) +
                 %(<?xml-stylesheet href="a.xsl"?><!DOCTYPE html "public">) +
                 "<![CDATA[a]]]]><![CDATA[>b]]><c><![CDATA[d]]></c>", written
  end

  def test_internal_subset
    xml = Builder.new(indent: 2)
    xml.declare!(:DOCTYPE, :a) { |inner| inner.declare! :ELEMENT, :b, "c" }
    xml.d "e"
    assert_equal "<!DOCTYPE a [\n  <!ELEMENT b \"c\">\n]>\n<d>e</d>\n", xml.target!
  end

  def test_instructions_have_no_blocks
    %i[comment! cdata! instruct!].each do |name|
      error = assert_raises(Trunkline::XML::IllegalBlockError) { xml.__send__(name, "x") {} }
      assert_match(/Blocks are not allowed/, error.message)
    end
    assert_raises(Trunkline::XML::IllegalBlockError) { xml.cdata_value!(:a, "x") {} }
  end

  def test_targets
    array = []
    Builder.new(target: array).a("t", b: "c")
    assert_equal ["<a", ' b="c"', ">", "t", "</a>"], array
    io = StringIO.new
    Builder.new(target: io).a
    assert_equal "<a/>", io.string
    outer = Builder.new
    outer.o { Builder.new(target: outer).i }
    assert_equal "<o><i/></o>", outer.target!
    assert_raises(FrozenError) { Builder.new(target: "frozen").a }
  end

  def test_target_can_be_read_and_changed_inside_a_block
    xml.a do
      assert_equal "<a>", written
      written.clear
      xml.b "text"
    end
    assert_equal "<b>text</b></a>", written
  end

  def test_its_own_output_as_text
    xml.a "1"
    xml.b written, c: written
    assert_equal %(<a>1</a><b c="&lt;a&gt;1&lt;/a&gt;&lt;b">&lt;a&gt;1&lt;/a&gt;</b>), written
  end

  def test_subclass_redefines_hooks
    upper = Class.new(Builder) do
      def helper = tag!(:helped)

      private

      def _escape(text) = super.upcase
      def _end_tag(name) = (@target << "<!--#{@level}-->") && super
    end
    xml = upper.new(indent: 1)
    xml.a("b", c: "d")
    xml.e { xml.helper }
    assert_equal "<a c=\"D\">B<!--0--></a>\n<e>\n <helped/>\n<!--0--></e>\n", xml.target!
  end

  def test_subclass_redefines_method_missing
    dashed = Class.new(Builder) { def method_missing(name, ...) = super(name.to_s.tr("_", "-").to_sym, ...) }
    Builder.new.first_name # defines the method for every builder
    assert_equal "<first-name/>", dashed.new.first_name
  end

  def test_singleton_hooks_and_instance_eval_see_the_state
    def xml._escape(text) = "[#{super}]"
    begin
      xml.a("b") {}
    rescue StandardError
      nil
    end
    xml.a "b"
    assert_equal "<a>[b]</a>", written
    other = Builder.new(indent: 2)
    other.x { other.instance_eval { @target << "#{@level}#{@indent}" } }
    assert_equal "<x>\n12</x>\n", other.target!
  end

  def test_ruby_takes_over_inside_a_block
    xml = Builder.new(indent: 1)
    xml.a do
      xml.b do
        xml.instruct! :xml, encoding: "US-ASCII"
        xml.c "\u00e9"
      end
    end
    assert_equal "<a>\n <b>\n  <?xml version=\"1.0\" encoding=\"US-ASCII\"?>\n  <c>&#233;</c>\n </b>\n</a>\n",
                 xml.target!
  end

  def test_to_s_writing_to_the_builder
    builder = xml
    odd = Object.new
    odd.define_singleton_method(:to_s) { builder.inner && "text" }
    xml.outer(odd, a: odd)
    assert_equal "<inner/><outer<inner/> a=\"text\">text</outer>", written
  end

  def test_to_s_that_makes_ruby_take_over
    ours, theirs = [Builder, ::Builder::XmlMarkup].map do |builder|
      xml = builder.new(indent: 1)
      odd = Object.new
      odd.define_singleton_method(:to_s) { xml.instruct!(:xml, encoding: "US-ASCII") && "text" }
      xml.a { xml.b(odd) }
      xml.c(d: odd) { xml.e "\u00e9" }
      xml.f
      xml.target!
    end
    assert_equal theirs, ours
  end

  def test_strings_that_share_the_targets_memory_stay_as_they_are
    100.times { xml.a "0123456789" }
    complete = written.dup
    tail = written[500..]
    100.times { xml.b "0123456789" }
    assert_equal 1700, complete.bytesize
    assert_equal complete[500..], tail
    assert written.start_with?(complete)
  end

  def test_target_exchanged_from_inside
    xml = Builder.new
    xml.a { xml.instance_eval { @target = +"new:" } }
    assert_equal "new:</a>", xml.target!
  end

  def test_method_caching_can_be_turned_off
    calls = []
    xml.cached
    define_missing(xml, calls)
    xml.cached
    assert_empty calls
    Trunkline::XML::Base.cache_method_calls = false
    plain = Builder.new
    plain.cached
    define_missing(plain, calls)
    plain.cached
    assert_equal [:cached], calls
  ensure
    Trunkline::XML::Base.cache_method_calls = true
  end

  def test_respond_to_once_it_was_a_tag
    ours, theirs = [Builder, ::Builder::XmlMarkup].map do |builder|
      xml = builder.new
      xml.respond_to?(:a)
      begin
        xml.b { |_one, _two| nil }
      rescue TypeError
        xml << "TypeError"
      end
      xml.target!
    end
    assert_equal theirs, ours
  end

  def test_method_missing_takes_what_builders_takes
    ["string", "caf\u00e9", "", "to_s", "respond_to?", :symbol, nil, 5, Object.new, "\xff"].each do |name|
      [true, false].each do |cached|
        expected, *actual = [::Builder::XmlMarkup, Builder, Class.new(Builder)].map do |builder|
          ::Builder::XmlBase.cache_method_calls = Trunkline::XML::Base.cache_method_calls = cached
          xml = builder.new(indent: 2)
          2.times { call_missing(xml, name) }
          xml.target!
        end
        actual.each { |written| assert_equal expected, written, [name, cached] }
      end
    end
  ensure
    ::Builder::XmlBase.cache_method_calls = Trunkline::XML::Base.cache_method_calls = true
  end

  def test_attributes_in_a_hash_that_compares_by_identity_are_written_once
    identity = {}.compare_by_identity
    identity[+"a"] = 1
    identity[+"b"] = 2
    identity[+"a"] = 3
    expected, *actual = [::Builder::XmlMarkup, Builder, Class.new(Builder)].map do |builder|
      xml = builder.new
      xml.one(identity, "text")
      xml.two({ "a" => 0 }, identity) {}
      xml.three(identity, { "b" => 4 })
      xml.instruct!(:xml, identity)
      xml.instruct!(:other, identity)
      xml.target!
    end
    assert_includes expected, %(<one a="3" b="2">text</one>)
    actual.each { |written| assert_equal expected, written }
  end

  def test_odd_options
    assert_raises(TypeError) { Builder.new(indent: "2").a { |inner| inner.b } }
    assert_raises(ArgumentError) { Builder.new(indent: -1).a { |inner| inner.b } }
    assert_equal "<a>\n  <b/>\n</a>\n", Builder.new(indent: 2.5).a(&:b)
    assert_equal "<a b='\"'/>", Builder.new(quote: :single).a(b: :'"')
  end

  def test_names_without_end
    names = rounds(3000)
    names.times { |number| xml.__send__("name#{number}", number) }
    assert_equal names.times.map { |number| "<name#{number}>#{number}</name#{number}>" }.join, written
  ensure
    Trunkline::XML::Base.cache_method_calls = false # removes the cached methods
    Trunkline::XML::Base.cache_method_calls = true
  end

  def test_events
    target = Struct.new(:events) do
      def start_tag(*event) = events << [:start, *event]
      def end_tag(name) = events << [:end, name]
      def text(string) = events << [:text, string]
    end.new([])
    xml = Trunkline::XML::Events.new(indent: 1, target: target)
    xml.a(b: 1) { xml.c "<&>" }
    assert_equal [[:start, :a, { b: 1 }], [:text, "\n"], [:text, " "], [:start, :c, nil], [:text, "<&>"], %i[end c],
                  [:text, "\n"], %i[end a], [:text, "\n"]], target.events
  end

  private

  def call_missing(xml, name)
    xml.method_missing(name, "text", a: 1)
  rescue StandardError => error
    xml << error.class.name
  end

  def define_missing(object, calls)
    (class << object; self; end).define_method(:method_missing) { |name, *| calls << name }
  end
end
