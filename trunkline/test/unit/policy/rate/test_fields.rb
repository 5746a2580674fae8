# frozen_string_literal: true

require_relative "../../../support/unit_test"
require "trunkline"

class TestRateFields < UnitTest
  Fields = Trunkline::Policy::Rate::Fields
  NOW = Time.utc(2026, 1, 31, 12, 0, 0)

  def read(fields) = Fields.read(fields.transform_keys(&:downcase), NOW).map(&:to_a)

  # fields => the limits in them: name, requests left, reset, limit, period
  TABLE = {
    { "RateLimit" => '"default";r=50;t=30' } => [["default", 50, 30.0, nil, nil]],
    { "RateLimit" => '"default";r=50;t=30', "RateLimit-Policy" => '"default";q=100;w=60' } =>
      [["default", 50, 30.0, 100, 60.0]],
    { "RateLimit" => '"burst";r=9;t=1, "day" ; r=900 ; t=50000',
      "RateLimit-Policy" => '"day";q=1000;w=86400,"burst";q=10' } =>
      [["burst", 9, 1.0, 10, nil], ["day", 900, 50_000.0, 1000, 86_400.0]],
    { "RateLimit" => '"a,b;\\"c";r=1;pk=:YWI=:;t=2' } => [['a,b;\\"c', 1, 2.0, nil, nil]],
    { "RateLimit" => "default;r=0" } => [["default", 0, nil, nil, nil]],
    { "RateLimit" => '"a";t=3, "b";r=1' } => [["b", 1, nil, nil, nil]],
    { "RateLimit" => "limit=100, remaining=50, reset=30", "RateLimit-Policy" => "100;w=60" } =>
      [["", 50, 30.0, 100, 60.0]],
    { "RateLimit" => "remaining=50, limit=100" } => [["", 50, nil, 100, nil]],
    { "RateLimit-Limit" => "100", "RateLimit-Remaining" => "50", "RateLimit-Reset" => "30" } =>
      [["", 50, 30.0, 100, nil]],
    { "RateLimit-Limit" => "10, 10;w=1, 1000;w=3600", "RateLimit-Remaining" => "9" } => [["", 9, nil, 10, nil]],
    { "X-RateLimit-Limit" => "60", "X-RateLimit-Remaining" => "0", "X-RateLimit-Reset" => "12" } =>
      [["", 0, 12.0, 60, nil]],
    { "X-RateLimit-Remaining" => "3", "X-RateLimit-Reset" => (NOW.to_i + 90).to_s } => [["", 3, 90.0, nil, nil]],
    { "X-RateLimit-Remaining" => "3", "X-RateLimit-Reset" => ((NOW.to_i + 90) * 1000).to_s } =>
      [["", 3, 90.0, nil, nil]],
    { "X-RateLimit-Remaining" => "3", "X-RateLimit-Reset" => (NOW.to_i + 90).to_s,
      "Date" => "Sat, 31 Jan 2026 12:01:00 GMT" } => [["", 3, 30.0, nil, nil]],
    { "X-RateLimit-Remaining" => "3", "X-RateLimit-Reset" => (NOW.to_i - 90).to_s } => [["", 3, 0.0, nil, nil]],
    { "X-RateLimit-Remaining" => "4", "X-RateLimit-Reset" => "1470173023.123", "X-RateLimit-Reset-After" => "1.25" } =>
      [["", 4, 1.25, nil, nil]],
    { "X-Rate-Limit-Limit" => "900", "X-Rate-Limit-Remaining" => "-2", "X-Rate-Limit-Reset" => "7.5" } =>
      [["", 0, 7.5, 900, nil]]
  }.freeze

  TABLE.each do |fields, limits|
    define_method(:"test_#{fields.map { |pair| pair.join(": ") }.join("_")}") { assert_equal limits, read(fields) }
  end

  def test_malformed_fields_are_ignored
    [{}, { "RateLimit" => "" }, { "RateLimit" => ";r=1" }, { "RateLimit" => '"a"r=1' }, { "RateLimit" => '"a' },
     { "RateLimit" => '"a";r=x' }, { "RateLimit" => "remaining=x" }, { "RateLimit" => '"a";r=1;t=2 oops' },
     { "X-RateLimit-Remaining" => "many" }, { "X-RateLimit-Limit" => "60" }, { "RateLimit" => "\xFF\xFE" }]
      .each { |fields| assert_empty read(fields), fields }
  end

  def test_no_more_limits_than_can_be_meant
    field = Array.new(1000) { |at| "\"#{at}\";r=1" }.join(", ")
    assert_operator read("RateLimit" => field).size, :<=, 16
  end

  def test_a_long_field_is_parsed_in_linear_time
    [";" * 100_000, "\"" * 100_001, "\"\\" * 50_000, "a;b=" * 30_000, " " * 100_000].each do |text|
      assert_empty read("RateLimit" => text, "RateLimit-Policy" => text)
    end
  end
end
