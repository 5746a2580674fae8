# frozen_string_literal: true

require_relative "test_helper"
require "active_support/all"
require "active_support/builder"
require "gyoku"
require "trunkline/xml/drop_in"
Trunkline::XML::DropIn.undo

class TestDropIn < Minitest::Test
  include Child

  ORIGINAL = Builder::XmlMarkup

  def teardown
    Trunkline::XML::DropIn.undo
  end

  def test_names_are_exchanged_and_put_back
    originals = %i[XmlBase XmlMarkup XmlEvents IllegalBlockError].to_h { |name| [name, Builder.const_get(name)] }
    assert Trunkline::XML::DropIn.install
    refute Trunkline::XML::DropIn.install
    assert_same Trunkline::XML::Builder, Builder::XmlMarkup
    assert_same Trunkline::XML::Events, Builder::XmlEvents
    assert_raises(Builder::IllegalBlockError) { Builder::XmlMarkup.new.comment!("x") {} }
    assert Trunkline::XML::DropIn.undo
    refute Trunkline::XML::DropIn.undo
    originals.each { |name, original| assert_same original, Builder.const_get(name) }
  end

  def test_gems_that_use_builder_write_the_same
    hash = { person: { first_name: "Ann & Bob", "@id": 5, tags: %w[a b], empty: nil, nested: { x: 1.5 } } }
    same_with_ours { Gyoku.xml(hash) }
    same_with_ours { Gyoku.xml({ a: { b: [1, 2] } }, pretty_print: true) }
    same_with_ours { hash.to_xml }
    same_with_ours { [hash, hash].to_xml(root: "people", skip_types: true) }
  end

  def test_methods_that_others_add_count
    program = <<~RUBY
      require "trunkline/xml/drop_in"
      #{STRESS}
      first = Trunkline::XML.native?
      class Builder::XmlMarkup
        def twice!(name) = 2.times { tag!(name) }
        private def _end_tag(name) = @target << "</\#{name}!>"
      end
      xml = Builder::XmlMarkup.new
      xml.a("b")
      xml.twice!(:c)
      print first, Trunkline::XML.native?, xml.target!
      module Loud; def text!(text) = super(text.upcase); end
      Builder::XmlMarkup.prepend(Loud)
      print Builder::XmlMarkup.new.d("e")
    RUBY
    native = Trunkline::XML.native?
    assert_equal "#{native}false<a>b</a!><c/><c/><d>E</d!>", ruby("-e", program)
  end

  def test_without_the_builder_gem
    program = "require 'trunkline/xml/drop_in'; #{STRESS} print Builder::XmlMarkup.new.a('b'), " \
              "Trunkline::XML::DropIn.undo, Builder.const_defined?(:XmlMarkup)"
    assert_equal "<a>b</a>truefalse", ruby("--disable-gems", "-e", program, BUNDLE_GEMFILE: nil, RUBYOPT: nil)
  end

  private

  def same_with_ours
    expected = yield
    Trunkline::XML::DropIn.install
    assert_equal expected, yield
  ensure
    Trunkline::XML::DropIn.undo
  end
end
