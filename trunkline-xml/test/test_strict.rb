# frozen_string_literal: true

require_relative "test_helper"

class TestStrict < Minitest::Test
  def xml = @xml ||= Trunkline::XML::Builder.new(strict: true)

  def teardown
    Trunkline::XML.strict = false
  end

  def test_same_output_where_nothing_is_wrong
    document = lambda do |builder|
      builder.instruct!
      builder.feed("xml:lang" => "en") { builder.soap(:Body, "text", "\u00e9t\u00e9": 1) && builder.comment!("a - b") }
      builder.target!
    end
    assert_equal document.call(Builder::XmlMarkup.new(indent: 2)),
                 document.call(Trunkline::XML::Builder.new(indent: 2, strict: true))
  end

  def test_names_that_are_none
    { "1a" => [], "a b" => [], "" => [], "a:b:c" => [], "-a" => [], "a\n" => [], a: [:"b c"],
      ok: [{ "x y" => 1 }] }.each do |name, args|
      error = assert_raises(Trunkline::XML::StrictError, name.inspect) { xml.tag!(name, *args) }
      assert_match(/is not the name/, error.message)
    end
    assert_raises(Trunkline::XML::StrictError) { xml.cdata_value!("a>", "b") }
  end

  def test_calls_that_were_not_meant_as_tags
    { to_s: "target!", respond_to?: "answers every name", class: "Builder === xml",
      puts: "text! or <<" }.each do |name, hint|
      error = assert_raises(Trunkline::XML::StrictError) { xml.__send__(name) }
      assert_includes error.message, hint
    end
    assert_raises(Trunkline::XML::StrictError) { "#{xml}" } # rubocop:disable Style/RedundantInterpolation
    assert_equal "", xml.target!
    assert_equal "<class/>", xml.tag!(:class)
  end

  def test_comments_and_instructions
    ["a--b", "a-"].each { |text| assert_raises(Trunkline::XML::StrictError) { xml.comment!(text) } }
    assert_raises(Trunkline::XML::StrictError) { xml.instruct!(:style, href: "a?>") }
  end

  def test_quotes_that_nobody_escapes
    single = Trunkline::XML::Builder.new(strict: true, quote: :single)
    assert_raises(Trunkline::XML::StrictError) { single.a(b: "it's") }
  end

  def test_for_the_whole_process
    Trunkline::XML.strict = true
    assert_raises(Trunkline::XML::StrictError) { Trunkline::XML::Builder.new.to_s }
    refute Trunkline::XML.native?
    Trunkline::XML.strict = false
    assert_equal "<to_s/>", Trunkline::XML::Builder.new.to_s
  end
end
