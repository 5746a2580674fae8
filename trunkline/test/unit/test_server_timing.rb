# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/server_timing"
require "trunkline/timings"

# Parsing and formatting of Server-Timing.
class TestServerTiming < UnitTest
  def parse(value) = Trunkline::ServerTiming.parse(value).map(&:to_a)

  def test_valid_fields
    { nil => [], "" => [],
      "miss, db;dur=53, app;dur=47.2" => [["miss", nil, ""], ["db", 0.053, ""], ["app", 0.0472, ""]],
      'cache;desc="Cache Read";dur=23.2' => [["cache", 0.0232, "Cache Read"]],
      'a ; DESC = "x, y; \"z\"" ; dur = 1 , b' => [["a", 0.001, 'x, y; "z"'], ["b", nil, ""]],
      "a;desc=token;dur=1e3" => [["a", 1.0, "token"]],
      'a;desc="back\\\\"' => [["a", nil, "back\\"]],
      "a;dur=1;dur=2;desc=x;desc=y" => [["a", 0.001, "x"]] }
      .each { |value, read| assert_equal read, parse(value), value }
  end

  def test_malformed_fields
    { "a;dur=abc" => [["a", nil, ""]], "a;dur=-1" => [["a", nil, ""]], "a;dur=1e999" => [["a", nil, ""]],
      "a;dur" => [["a", nil, ""]], "a;dur=" => [["a", nil, ""]], "a;=1;dur=2" => [["a", 0.002, ""]],
      ",,;,=,b" => [["b", nil, ""]], '"a, b", c' => [["c", nil, ""]],
      "a b;dur=1, c" => [["a", nil, ""], ["c", nil, ""]],
      'a;desc="open, b' => [["a", nil, "open, b"]], "a;desc=\"\\" => [["a", nil, "\\"]],
      "a;desc=\xFF, b" => [["a", nil, ""], ["b", nil, ""]],
      'a;desc="x"junk;dur=3' => [["a", 0.003, "x"]], 'a;x"y",b' => [["a", nil, ""], ["b", nil, ""]] }
      .each { |value, read| assert_equal read, parse(value), value }
  end

  def test_long_fields_are_parsed_in_linear_time
    [",", ";", '"', "a;", "a,", "a;desc=\"\\", "a;dur=1", " ", "=", "\\"].each do |part|
      assert_kind_of Array, parse(part * (65_536 / part.size))
    end
  end

  def test_timings_are_formatted_as_server_timing
    timings = Trunkline::Timings.new(0.0, nil, nil, nil, 0.00001, 0.0312, 0.0339, nil)
    assert_equal "queue;dur=0.0, write;dur=0.01, first_byte;dur=31.2, total;dur=33.9", timings.to_server_timing
    read = Trunkline::ServerTiming.parse(timings.to_server_timing("users"))
    assert_equal(%w[users-queue users-write users-first_byte users-total], read.map(&:name))
    assert_in_delta 0.0339, read.last.duration
    assert_refused("to_server_timing") { timings.to_server_timing("a b") }
  end
end
