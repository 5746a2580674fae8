# frozen_string_literal: true

require_relative "../../../test_helper"
require "trunkline/engine/ruby/head_lines"

# The lines of heads that the engine in Ruby keeps for each connection.
class TestHeadLines < Minitest::Test
  LINES = Trunkline::Engine::Ruby::HeadLines

  def test_a_line_is_found_with_its_name_and_value
    lines = LINES.new
    assert_nil lines.at(1, "Server: x")
    assert_equal %w[Server x], lines.keep(+"Server: x", [+"Server", +"x"])
    pair = lines.at(1, "Server: x")
    assert_equal %w[Server x], pair
    assert [pair, *pair].all?(&:frozen?)
    assert_nil lines.at(1, "server: x")
  end

  # A line is compared with the one at the same position of the last head first.
  def test_a_line_is_found_at_any_position
    lines = LINES.new
    { "A: 1" => %w[A 1], "B: 2" => %w[B 2] }.each { |line, pair| lines.keep(line, pair) }
    [[1, "A: 1"], [2, "B: 2"], [1, "B: 2"], [2, "B: 2"], [1, "B: 2"], [1, "A: 1"], [1000, "A: 1"]].each do |at, line|
      assert_equal line.split(": "), lines.at(at, line), [at, line]
    end
    assert_nil lines.at(1, "B: 3")
    assert_nil lines.at(1, "C: 1")
    assert_equal %w[A 1], lines.at(1, "A: 1")
  end

  # A head may have thousands of lines, if the caller allows it.
  def test_the_lines_of_the_last_head_are_limited
    lines = LINES.new
    1000.times do |at|
      lines.keep("N: #{at}", ["N", at.to_s])
      assert_equal ["N", at.to_s], lines.at(at, "N: #{at}")
    end
    assert_nil lines.at(900, "N: 900")
  end

  def test_a_line_that_changes_later_is_another_line
    lines = LINES.new
    line = +"Server: x"
    lines.keep(line, %w[Server x])
    line << "y"
    assert_equal %w[Server x], lines.at(1, "Server: x")
    assert_nil lines.at(1, "Server: xy")
  end

  # Only CRuby tells of shared memory.
  if RUBY_ENGINE == "ruby"
    def test_a_line_does_not_keep_the_head_that_it_is_a_part_of
      require "objspace"
      head = "#{"x" * 60_000}\r\nServer: #{"x" * 100}"
      line = head.split("\r\n").last
      assert_includes ObjectSpace.dump(line), '"shared":true'
      pair = LINES.new.keep(line, [line.byteslice(0, 6), line.byteslice(8..)])
      assert_equal "x" * 100, pair.last
      refute_includes ObjectSpace.dump(pair.last), '"shared":true'
    end
  end

  def test_only_the_most_recent_lines_are_kept
    lines = LINES.new
    1000.times { |number| lines.keep("N: #{number}", ["N", number.to_s]) }
    assert_nil lines.at(1, "N: 935")
    assert_equal %w[N 936], lines.at(1, "N: 936")
    assert_equal %w[N 999], lines.at(1, "N: 999")
  end

  def test_a_long_line_is_not_kept
    lines = LINES.new
    { 256 => true, 257 => false }.each do |bytes, kept|
      line = "N: #{"x" * (bytes - 3)}"
      lines.keep(line, ["N", line[3..]])
      assert_equal kept, !lines.at(1, line).nil?, bytes
    end
  end

  def test_a_status_line_is_found_with_its_parts
    lines = LINES.new
    assert_nil lines.status("HTTP/1.1 200 OK")
    lines.keep_status(line = +"HTTP/1.1 200 OK", 1, 200, "OK")
    line << "!"
    assert_equal [1, 200, "OK"], lines.status("HTTP/1.1 200 OK")
    assert_nil lines.status("HTTP/1.1 200 OK!")
    assert_nil lines.at(1, "HTTP/1.1 200 OK")
    lines.keep_status("HTTP/1.1 404 Not Found", 1, 404, "Not Found")
    assert_nil lines.status("HTTP/1.1 200 OK")
  end

  # Otherwise a head that begins with a field line would have a status.
  def test_a_field_line_is_no_status_line
    lines = LINES.new
    lines.keep("Server: x", %w[Server x])
    assert_nil lines.status("Server: x")
  end

  def test_inspect_shows_no_value
    lines = LINES.new
    lines.keep("Set-Cookie: secret", %w[Set-Cookie secret])
    refute_includes lines.inspect, "secret"
  end
end
