# frozen_string_literal: true

require_relative "test_helper"

# A subclass may call its own helpers anything, and a tag may have any name: our classes have the methods that
# Builder's have, and no others.
class TestHelperNames < Minitest::Test
  XML = Trunkline::XML
  PAIRS = { XML::Base => ::Builder::XmlBase, XML::Builder => ::Builder::XmlMarkup,
            XML::Events => ::Builder::XmlEvents }.freeze

  # Every name of a method or function that this library defines anywhere, and names of helpers that it once had.
  def self.names_within(mod, seen = [])
    return [] if seen.include?(mod)

    seen << mod
    own = [mod, mod.singleton_class].flat_map { |place| methods_of(place).values.flatten }
    own + mod.constants(false).flat_map do |name|
      value = mod.const_get(name, false)
      value.is_a?(Module) && value.name&.start_with?("Trunkline::XML") ? names_within(value, seen) : []
    end
  end

  def self.methods_of(mod)
    { public: mod.public_instance_methods(false), private: mod.private_instance_methods(false),
      protected: mod.protected_instance_methods(false) }.transform_values(&:sort)
  end

  FORMER = %i[_close _divide _element _internal_subset _leaf _leave _sort_arguments _static _write_attribute].freeze
  # Builder's own names, whose meaning a subclass overrides on purpose, and names that Ruby itself calls.
  BUILDERS = (::Builder::XmlEvents.instance_methods + ::Builder::XmlEvents.private_instance_methods).freeze
  OTHERS = (names_within(XML) + %i[title helper arguments check_name refuse] - BUILDERS - FORMER).uniq
  NAMES = (FORMER + (GarbageCollection.stress? ? [] : OTHERS)).freeze

  PAIRS.each do |ours, theirs|
    define_method("test_#{ours.name[/\w+\z/].downcase}_has_the_methods_of_builders_class") do
      assert_equal self.class.methods_of(theirs), self.class.methods_of(ours)
    end
  end

  if XML.native?
    def test_the_class_in_c_has_only_what_answers_for_methods_that_builder_or_ruby_have
      forget_tags
      assert_empty self.class.methods_of(XML::Builder::Native).values.flatten - BUILDERS
    end
  end

  def test_a_strict_builder_has_no_helpers_either
    assert_empty self.class.methods_of(XML::Strict).values.flatten - BUILDERS
  end

  %i[public private].each do |visibility|
    define_method("test_#{visibility}_helpers_of_a_subclass_have_any_name") do
      NAMES.each do |name|
        expected, *actual = [::Builder::XmlMarkup, XML::Builder, XML::Strict].map do |parent|
          document(subclass(parent, name, visibility), name)
        end
        actual.each { |written| assert_equal expected, written, name }
      end
    end
  end

  def test_subclasses_of_events_have_helpers_of_any_name
    NAMES.each do |name|
      expected, actual = [::Builder::XmlEvents, XML::Events].map do |parent|
        events(subclass(parent, name, :private), name)
      end
      assert_equal expected, actual, name
    end
  end

  def test_singleton_helpers_have_any_name
    NAMES.each do |name|
      expected, actual = [::Builder::XmlMarkup, XML::Builder].map do |builder|
        xml = builder.new(indent: 2)
        (class << xml; self; end).define_method(name) { |*| tag!(:helped) }
        write(xml, name)
      end
      assert_equal expected, actual, name
    end
  end

  def test_tags_of_any_name
    NAMES.each do |name|
      expected, *actual = [::Builder::XmlMarkup, XML::Builder, Class.new(XML::Builder)].map do |builder|
        xml = builder.new(indent: 2)
        2.times { write(xml, name) }
        xml.target!
      end
      actual.each { |written| assert_equal expected, written, name }
    end
  end

  # In Builder, too, the tag's method replaces the helper once the tag was called from outside.
  def test_a_tag_of_a_private_helpers_name_takes_its_place
    expected, actual = [::Builder::XmlMarkup, XML::Builder].map do |parent|
      builder = subclass(parent, :title, :private)
      xml = builder.new
      xml.title "a tag"
      xml.document
      xml.target!
    end
    assert_equal expected, actual
  end

  def test_singleton_methods_of_a_subclass_have_any_name
    (XML::Base.singleton_methods(false) + XML::Base.singleton_class.private_instance_methods(false) +
      XML::Builder.singleton_class.private_instance_methods(false) - %i[method_added inherited]).each do |name|
      builder = Class.new(XML::Builder) do
        define_singleton_method(name) { |*| raise "#{name} was called" }
        define_method(:helper) { tag!(:helped) }
      end
      assert_equal "<helped/>", builder.new.helper, name
    end
  end

  private

  def forget_tags
    XML::Base.cache_method_calls = false
    XML::Base.cache_method_calls = true
  end

  def subclass(parent, name, visibility)
    Class.new(parent) do
      define_method(name) { |*| tag!(:helped, by: name.to_s) }
      __send__(visibility, name)
      define_method(:document) { tag!(:own) { __send__(name, "text") } }
    end
  end

  def document(builder, name)
    xml = builder.new(indent: 2)
    xml.document
    write(xml, name, tags: false)
  end

  def events(builder, name)
    target = Class.new do
      def log = @log ||= []
      %i[start_tag end_tag text <<].each { |event| define_method(event) { |*arguments| log << [event, *arguments] } }
    end.new
    xml = builder.new(indent: 1, target: target)
    xml.document
    write(xml, name, tags: false)
    target.log
  end

  # Writes every kind of output, and the helper's name as a tag.
  def write(xml, name, tags: true)
    xml.instruct!
    xml.declare!(:DOCTYPE, :a) { |inner| inner.declare!(:ELEMENT, :b, "c") }
    xml.a(nil, { b: "1 & 2", c: :d }) do
      xml.__send__(name, "text", e: 5) if tags
      xml.f("text") && xml.g("")
      xml.cdata!("]]>") && xml.cdata_value!(:h, "i")
      xml.comment!("j")
      xml.instruct!(:xml, encoding: "US-ASCII")
      xml.k("\u00e9")
    end
    xml.target!
  end
end
