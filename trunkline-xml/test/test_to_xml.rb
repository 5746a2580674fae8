# frozen_string_literal: true

require_relative "test_helper"
require "active_support/all"
require "trunkline/xml/to_xml"

# Hash#to_xml and Array#to_xml compared with Active Support's own, which they call for an unknown option.
class TestToXml < Minitest::Test
  Point = Struct.new(:x)
  Own = Class.new { def to_xml(options) = options[:builder].own(options[:root].to_s) }
  CALL = ->(options) { options[:builder].called }
  RECORD = { id: 1, "first_name" => "Ann & Bob", price: 9.95, active: true, off: false, zip: nil,
             born: Date.new(1970, 1, 2),
             at: Time.at(0).utc, tags: %w[new sale], "address_line" => { city: "X", zip: nil }, symbol: :x, big: 2**70,
             decimal: BigDecimal("1.5"), range: 1..2, point: Point.new(1), klass: Object, "with space" => "s",
             _private_name_: "p", duration: 3.days, own: Own.new, safe: "<b>".html_safe,
             zone: Time.at(0).in_time_zone("UTC"),
             empty: [], nothing: {}, deep: [[1, 2], [{ a: [nil] }]], call: CALL }.freeze
  DOCUMENTS = [RECORD, Array.new(3) { RECORD }, [], {}, [1, 2], %w[a b], [1, "a"], [[1], [2]], [nil], { a: [] },
               { "a" => { b: { c: 1 } } }, [Own.new], [RECORD.with_indifferent_access],
               RECORD.with_indifferent_access].freeze
  OPTIONS = [{}, { skip_types: true }, { dasherize: false }, { camelize: true }, { camelize: :lower },
             { root: "my_things" },
             { skip_instruct: true, indent: 0 }, { indent: 4 }, { children: "kid" }, { type: "x" },
             { encoding: "base64" }].freeze

  DOCUMENTS.product(OPTIONS).each_with_index do |(document, options), index|
    define_method("test_same_as_active_support_#{index}") do
      expected = reference { document.to_xml(options.merge(unknown: 1)) }
      assert_equal expected, document.to_xml(options), options.inspect
    end
  end

  def test_block_and_given_builder
    [RECORD, [RECORD]].each do |document|
      texts = [{}, { unknown: 1 }].map { |extra| document.to_xml(extra) { |xml| xml.more "text" } }
      assert_equal(*texts)
      ours, theirs = [Trunkline::XML::Builder, Builder::XmlMarkup].map { |builder| document.to_xml(builder: builder.new(indent: 1)) }
      assert_equal theirs, ours
    end
  end

  def test_options_are_not_changed
    options = { root: "r", skip_instruct: true }
    [1].to_xml(options)
    assert_equal({ root: "r", skip_instruct: true }, options)
  end

  def test_formatting_of_the_application_counts
    ActiveSupport::XmlMini::TYPE_NAMES["TestToXml::Point"] = "point"
    ActiveSupport::XmlMini::FORMATTING["point"] = ->(point) { "(#{point.x})" }
    assert_includes({ p: Point.new(3) }.to_xml, %(<p type="point">(3)</p>))
  ensure
    ActiveSupport::XmlMini::TYPE_NAMES.delete("TestToXml::Point")
    ActiveSupport::XmlMini::FORMATTING.delete("point")
  end

  def test_original_is_used_when_it_was_changed
    mini = ActiveSupport::XmlMini
    original = mini.instance_method(:rename_key)
    mini.define_method(:rename_key) { |key, _options = {}| key.upcase }
    assert_includes({ ab: 1 }.to_xml, "<AB ")
  ensure
    mini.define_method(:rename_key, original)
  end
end
