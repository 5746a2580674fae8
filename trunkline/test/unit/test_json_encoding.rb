# frozen_string_literal: true

require "bigdecimal"
require "date"
require "set"
require "uri"
require_relative "../support/unit_test"
require "trunkline"

# The content that json: sends, without ActiveSupport, which test_rails_values.rb loads.
class TestJSONEncoding < UnitTest
  Point = Struct.new(:x)
  Money = Struct.new(:cents) { def to_json(*) = %({"cents":#{cents}}) }
  Coin = Struct.new(:cents) { def as_json(*) = { cents: cents, at: Time.at(0).utc } }
  Text = Class.new(String)
  Settings = Class.new(Hash)
  Indirect = Class.new { def as_json(*) = [Settings[a: Money.new(1)]] }
  Record = Struct.new(:id) { def to_hash = { id: id } }
  Wrapped = Class.new { def as_json(*) = self }

  FORMS = {
    { a: [1, 1.5, nil, true, :b], "c" => "ü" } => '{"a":[1,1.5,null,true,"b"],"c":"ü"}',
    { 1 => 2, nil => 3 } => '{"1":2,"":3}', { Date.new(2026, 1, 2) => Pathname("/x") } => '{"2026-01-02":"/x"}',
    "text" => '"text"', nil => "null",
    Time.utc(2026, 1, 2, 3, 4, 5.678r) => '"2026-01-02T03:04:05.678Z"',
    [Date.new(2026, 1, 2)] => '["2026-01-02"]',
    { at: DateTime.new(2026, 1, 2, 3, 4, 5, "+1") } => '{"at":"2026-01-02T03:04:05.000+01:00"}',
    BigDecimal("1.50") => '"1.5"', URI("http://a.test/") => '"http://a.test/"', Pathname("/x") => '"/x"',
    Set[1, 2] => "[1,2]", Text.new("t") => '"t"', Settings[a: Time.utc(2026)] => '{"a":"2026-01-01T00:00:00.000Z"}',
    { list: [Money.new(5)] } => '{"list":[{"cents":5}]}',
    [Coin.new(5)] => '[{"cents":5,"at":"1970-01-01T00:00:00.000Z"}]',
    Indirect.new => '[{"a":{"cents":1}}]',
    Record.new(7) => '{"id":7}',
    { "ü".encode("ISO-8859-1") => ["é".encode("UTF-16LE"), "a".b] } => '{"ü":["é","a"]}',
    Text.new("ö".encode("ISO-8859-1")) => '"ö"'
  }.freeze

  REFUSED = {
    Point.new(1) => %w[Point to_h], { a: [Point.new("secret")] } => ["Point"], Object.new => ["Object"],
    1r => ["1/1"], Float::NAN => ["json"], [Float::INFINITY] => ["json"], Wrapped.new => ["Wrapped"],
    $stdout => ["IO"], -> {} => ["Proc"], "é".b => ["json"], { "é".b => 1 } => ["json"]
  }.freeze

  # generate uses the json gem's Coder; generate_copy is for older json gems.
  %i[generate generate_copy].each do |name|
    define_method(:"test_forms_of_#{name}") do
      FORMS.each { |given, text| assert_equal text, Trunkline::JSONEncoding.public_send(name, given), given.inspect }
    end
  end

  def test_values_without_a_json_form_are_refused
    REFUSED.each do |given, words|
      refused = assert_refused("json: ", *words) { Trunkline::JSONEncoding.generate(given) }
      refute_match(/secret/, refused.message)
    end
  end

  def test_a_key_without_a_text_of_its_own_is_refused
    [Point.new("secret"), Object.new, Set["secret"], -> {}].each do |key|
      %i[generate generate_copy].each do |name|
        refused = assert_refused("json: a key", key.class.name) { Trunkline::JSONEncoding.public_send(name, [{ key => 1 }]) }
        refute_match(/secret/, refused.message)
      end
    end
  end

  def test_without_a_coder_the_same_is_refused
    REFUSED.reject { |_, words| words == ["json"] }.each do |given, words|
      assert_refused("json: ", *words) { Trunkline::JSONEncoding.generate_copy(given) }
    end
  end

  def test_the_hint_names_what_helps
    { Point.new(1) => true, (1..2) => false, $stdout => false }.each do |given, helps|
      message = assert_refused("json: ") { Trunkline::JSONEncoding.generate([given]) }.message
      assert_equal helps, message.include?("to_h"), message
    end
  end

  def test_a_circle_is_refused
    (circle = []) << circle
    assert_refused("json: ", "nesting") { Trunkline::JSONEncoding.generate(circle) }
    assert_raises(JSON::NestingError) { Trunkline::JSONEncoding.generate_copy(circle) }
  end

  def test_plain_values_cost_no_more_objects_than_the_json_gem
    skip "JRuby's ObjectSpace counts no objects" if RUBY_ENGINE == "jruby" # UnitTest does not read the engine lists
    value = { name: "a", list: [1, 2, { "x" => true }] }
    ours, theirs = [-> { Trunkline::JSONEncoding.generate(value) }, -> { JSON.generate(value) }].map do |make|
      make.call
      allocated { 100.times { make.call } }
    end
    assert_operator ours, :<=, theirs + 10
  end

  def allocated
    GC.disable
    before = GC.stat(:total_allocated_objects)
    yield
    GC.stat(:total_allocated_objects) - before
  ensure
    GC.enable
  end
end
