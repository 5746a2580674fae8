# frozen_string_literal: true

require_relative "../../../test_helper"
require "trunkline/engine/ruby/field_lines"

# The field lines that the engine in Ruby keeps for each connection.
class TestFieldLines < Minitest::Test
  LINES = Trunkline::Engine::Ruby::FieldLines

  def test_a_line_is_found_with_its_name_and_value
    lines = LINES.new
    assert_nil lines["Server: x"]
    assert_equal %w[Server x], lines.keep(+"Server: x", [+"Server", +"x"])
    pair = lines["Server: x"]
    assert_equal %w[Server x], pair
    assert [pair, *pair].all?(&:frozen?)
    assert_nil lines["server: x"]
  end

  def test_a_line_that_changes_later_is_another_line
    lines = LINES.new
    line = +"Server: x"
    lines.keep(line, %w[Server x])
    assert line.frozen?
  end

  def test_only_the_most_recent_lines_are_kept
    lines = LINES.new
    1000.times { |number| lines.keep("N: #{number}", ["N", number.to_s]) }
    assert_nil lines["N: 935"]
    assert_equal %w[N 936], lines["N: 936"]
    assert_equal %w[N 999], lines["N: 999"]
  end

  def test_a_long_line_is_not_kept
    lines = LINES.new
    { 256 => true, 257 => false }.each do |bytes, kept|
      line = "N: #{"x" * (bytes - 3)}"
      lines.keep(line, ["N", line[3..]])
      assert_equal kept, !lines[line].nil?, bytes
    end
  end

  def test_inspect_shows_no_value
    lines = LINES.new
    lines.keep("Set-Cookie: secret", %w[Set-Cookie secret])
    refute_includes lines.inspect, "secret"
  end
end
