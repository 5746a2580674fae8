# frozen_string_literal: true

require_relative "../../../support/unit_test"
require "trunkline"

# Parsing of the fields that cache: uses, without a server.
class TestCacheRules < UnitTest
  Cache = Trunkline::Policy::Cache

  def directives(text) = Cache::Directives.of(text)

  def test_directives
    read = directives(%(Max-Age=60, no-cache="a, b", private , x="max-age=5\\", no-store", stale-if-error=1x))
    assert_equal [60, true, true, false, 0, nil],
                 [read.seconds("max-age"), read.key?("no-cache"), read.key?("private"), read.key?("no-store"),
                  read.seconds("stale-if-error"), read.seconds("min-fresh")]
    assert directives("max-stale").bare?("max-stale")
    refute directives("max-stale=5").bare?("max-stale")
    assert_equal 2**31, directives("max-age=99999999999999999999").seconds("max-age")
    assert_equal 0, directives("max-age=-5").seconds("max-age")
    assert_equal 0, directives("max-age").seconds("max-age")
    [nil, "", ",,", "=", '"', "\xFF"].each { |text| refute directives(text).any? }
  end

  def test_directives_that_are_repeated_or_broken_are_read_strictly
    assert_equal 1, directives("max-age=60, max-age=1").seconds("max-age")
    assert_equal 1, directives("max-age=1, max-age=60").seconds("max-age")
    assert directives('x="open, no-store').key?("no-store")
  end

  RANGES = { "bytes=0-0" => 0..0, "bytes=2-" => 2..9, "bytes=-3" => 7..9, "bytes=-30" => 0..9, "bytes=5-50" => 5..9,
             " BYTES = 1 - 2 " => 1..2, "bytes=10-" => nil, "bytes=5-4" => nil, "bytes=-" => nil, "bytes=-0" => nil,
             "bytes=0-1,3-4" => nil, "lines=0-1" => nil, "" => nil, "bytes=a-b" => nil }.freeze

  def test_ranges
    assert_equal RANGES, RANGES.to_h { |field, _| [field, Cache::ByteRange.of(field, 10)] }
    assert_nil Cache::ByteRange.of("bytes=-1", 0)
    assert_nil Cache::ByteRange.of("bytes=0-", 0)
  end

  def freshness(fields, asked_at: 1_000_000.0, received: 1_000_001.0, heuristic: 0.1)
    stored = Struct.new(:status, :fields) { def [](name) = name.is_a?(String) ? fields[name] : super }
    Cache::Freshness.of(stored.new(200, fields), asked_at, received,
                        { heuristic: heuristic, stale_while_revalidate: 0, stale_if_error: 0 })
  end

  def date(seconds) = Time.at(seconds).httpdate

  def test_ages
    { {} => 1.0, { "age" => "10" } => 11.0, { "date" => date(999_981) } => 20.0,
      { "date" => date(999_981), "age" => "5" } => 20.0, { "date" => date(2_000_000) } => 1.0,
      { "age" => "5, 10" } => 6.0, { "age" => "x" } => 1.0, { "age" => "-5" } => 1.0, { "age" => "5.5" } => 1.0 }
      .each { |fields, age| assert_equal age, freshness(fields).initial_age, fields }
    assert_equal 61.0, freshness({}).age(1_000_061.0)
    assert_equal 1.0, freshness({}).age(0.0) # the clock was set back
  end

  def test_lifetimes
    now = date(1_000_000)
    { {} => 0.0, { "cache-control" => "max-age=5" } => 5.0,
      { "expires" => date(1_000_030), "date" => now } => 30.0, { "expires" => now, "date" => now } => 0.0,
      { "expires" => "0", "date" => now } => 0.0,
      { "expires" => date(1_000_030), "cache-control" => "max-age=x" } => 0.0,
      { "last-modified" => date(999_000), "date" => now } => 100.0,
      { "last-modified" => date(0), "date" => date(10_000_000) } => 86_400.0 }
      .each { |fields, lifetime| assert_equal lifetime, freshness(fields).lifetime, fields }
    assert_equal 0.0, freshness({ "last-modified" => date(999_000), "date" => now }, heuristic: 0.0).lifetime
  end

  def test_two_digits_of_a_year
    assert_equal Time.utc(2050, 8, 18, 2, 1, 18).to_i, Cache::Freshness.time("Thursday, 18-Aug-50 02:01:18 GMT")
    assert_equal Time.utc(1994, 11, 6, 8, 49, 37).to_i, Cache::Freshness.time("Sunday, 06-Nov-94 08:49:37 GMT")
    assert_equal 784_111_777, Cache::Freshness.time("Sun Nov  6 08:49:37 1994")
  end

  def test_dumped_entries_are_loaded_unchanged
    random = Random.new(7)
    facts = freshness({ "etag" => "\"\xE4\"".b, "cache-control" => "max-age=5" })
    100.times do
      head = "HTTP/1.1 200 OK\r\nA: #{random.rand}\r\n".b
      stored = Cache::StoredResponse.new(head, random.bytes(random.rand(50)), facts)
      read = Cache::StoreFormat.load(Cache::StoreFormat.dump(stored))
      assert_equal [stored.head, stored.body, stored.freshness.to_a], [read.head, read.body, read.freshness.to_a]
    end
    names = ["accept", "x-a", "\xE9".b]
    variants = Cache::StoreFormat.load(Cache::StoreFormat.dump(Cache::Variants.new(names, "t")))
    assert_equal [names, "t"], [variants.names, variants.token]
  end

  def test_bytes_that_were_changed_make_no_other_objects
    random = Random.new(8)
    good = Cache::StoreFormat.dump(Cache::StoredResponse.new("HTTP/1.1 200 OK\r\n", "body", freshness({})))
    500.times do
      bad = good.dup
      bad.setbyte(random.rand(bad.bytesize), random.rand(256))
      read = Cache::StoreFormat.load(bad)
      assert_includes [NilClass, Cache::StoredResponse, Cache::Variants], read.class
      assert_predicate read.freshness, :valid_types? if read.is_a?(Cache::StoredResponse)
    end
  end
end
