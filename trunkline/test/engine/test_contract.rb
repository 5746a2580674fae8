# frozen_string_literal: true

require_relative "../test_helper"

# The engine in use has the methods that lib/trunkline/engine.rb lists, and the engine in C has no others. (The classes
# of the engine in Ruby also have methods that its other files call.)
class TestContract < TrunklineTest
  PAGE = File.read(File.expand_path("../../lib/trunkline/engine.rb", __dir__))
  SECTION = /^  # == (Engine|(?:Engine::)?[A-Z]\w+)\n(.*?)(?=^  # ==|\z)/m
  # The lines of a section that begin with three spaces, up to a wide space or an arrow: "name(arguments), name".
  ENTRY = /^  #   (\S.*?)(?=  | ->|$)/
  METHOD = /([a-z_]\w*[?=]?|\[\]|<<)(\([^)]*\))?(?:, |\z)/

  # One method of the page.
  Entry = Struct.new(:owner, :name, :arguments) do
    # @return [Method, UnboundMethod, nil]
    def found
      return (owner.method(name) if owner.respond_to?(name)) if owner.instance_of?(Module)

      owner.instance_method(name) if owner.method_defined?(name) || owner.private_method_defined?(name)
    end

    def to_s = "#{owner}##{name}"
  end

  ENTRIES = PAGE.scan(SECTION).flat_map do |name, text|
    owner = Trunkline.const_get(name)
    text.scan(ENTRY).flatten.grep_v(/\A[A-Z]/).flat_map do |entry|
      entry.scan(METHOD).map { |method, arguments| Entry.new(owner, method.to_sym, arguments) }
    end
  end

  def test_the_page_lists_many_methods
    assert_operator ENTRIES.size, :>, 90
    assert_equal 11, ENTRIES.map(&:owner).uniq.size
  end

  def test_the_engine_has_every_method_with_its_arguments
    ENTRIES.each do |entry|
      found = entry.found
      assert found, "#{entry} is missing"
      next assert_operator found.arity, :<, 0 if entry.arguments&.include?("=")

      assert_equal entry.arguments.to_s.scan(/\w+/).size, found.arity, "the arguments of #{entry}"
    end
  end

  def test_methods_are_private_where_the_page_says_so
    stated = PAGE.scan(/^  #   (\w+[?]?)[^\n]*?(?:\n  # +)?private: /).flatten.map(&:to_sym)
    assert_operator stated.size, :>, 15
    ENTRIES.each do |entry|
      next if entry.owner.instance_of?(Module) || entry.name == :initialize

      assert_equal stated.include?(entry.name), entry.owner.private_method_defined?(entry.name), entry.to_s
    end
  end

  def test_the_engine_in_c_has_no_other_methods
    skip "the engine in Ruby calls methods of its own classes" unless Trunkline::ENGINE == :c

    ENTRIES.group_by(&:owner).each do |owner, entries|
      assert_empty compiled_methods(owner) - entries.map(&:name), owner.to_s
    end
  end

  def test_constants
    %i[CODINGS HTTP2 BOUNDS].each { |name| assert Trunkline::Engine.const_defined?(name) }
    assert_respond_to Trunkline::Engine::Pool, :all
    assert_respond_to Trunkline::RequestBuilder, :per_call?
    [Trunkline::Response, Trunkline::Engine::Switched].each do |made_by_engine|
      assert_raises(NoMethodError, TypeError) { made_by_engine.new }
    end
  end

  private

  # A method in C has no place in a file.
  def compiled_methods(owner)
    if owner.instance_of?(Module)
      return owner.singleton_methods(false).reject { |name| owner.method(name).source_location }
    end

    names = owner.instance_methods(false) + owner.private_instance_methods(false)
    names.reject { |name| owner.instance_method(name).source_location }
  end
end
