# frozen_string_literal: true

require_relative "../support/unit_test"
require "trunkline/ows"

class TestOWS < UnitTest
  OWS = Trunkline::OWS
  SPACES = " " * 60_000

  def test_white_space_is_removed
    { "a" => "a", " a" => "a", "a\t " => "a", " a b\t" => "a b", "" => "", " \t" => "", "a\n" => "a\n", " \n " => "\n",
      " \u00e9 " => "\u00e9" }.each { |text, stripped| assert_equal stripped, OWS.strip(text), text.inspect }
    { "a" => "a", " a" => " a", " a b\t" => " a b", "" => "", " \t" => "" }
      .each { |text, stripped| assert_equal stripped, OWS.rstrip(text), text.inspect }
  end

  def test_the_result_is_new_and_keeps_the_encoding
    ["", " ", "a", " a "].each do |text|
      [Encoding::BINARY, Encoding::US_ASCII, Encoding::UTF_8].each do |encoding|
        stripped = OWS.strip(text.dup.force_encoding(encoding).freeze)
        assert_equal encoding, stripped.encoding
        refute_predicate stripped, :frozen?
      end
    end
  end

  # Quadratic time would be ten seconds.
  def test_many_spaces_within_a_text_take_little_time
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_equal 60_002, OWS.strip(" a#{SPACES}b ").bytesize
    assert_equal 60_002, OWS.rstrip("a#{SPACES}b ").bytesize
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 2
  end
end
