# frozen_string_literal: true

require_relative "../../../test_helper"
require "trunkline/engine/ruby/failures"
require "trunkline/engine/ruby/head"
require "trunkline/engine/ruby/limits"

# How the engine in Ruby parses a head whose lines its connection has received before; TestFraming and the fuzzer test
# the grammar.
class TestHead < Minitest::Test
  RUBY = Trunkline::Engine::Ruby
  FIRST = "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 3\r\n\r\n"

  def setup
    @known = RUBY::HeadLines.new
    parse(FIRST)
  end

  def test_the_same_head_gives_the_same_result
    head = parse(FIRST)
    assert_equal [200, 1, "OK", :length, 3], [head.status, head.minor_version, head.reason, head.framing,
                                              head.content_length]
    assert_equal [%w[Server x], %w[Content-Length 3]], head.fields
  end

  def test_another_status_and_another_value_are_read
    head = parse("HTTP/1.0 404 Not Found\r\nServer: x\r\nContent-Length: 30\r\n\r\n")
    assert_equal [404, 0, "Not Found", 30], [head.status, head.minor_version, head.reason, head.content_length]
    assert_equal [200, ""], parse("HTTP/1.1 200 \r\n\r\n").then { |one| [one.status, one.reason] }
  end

  def test_a_head_must_begin_with_a_status_line
    ["Server: x\r\n\r\n", "Server: x\r\nServer: x\r\n\r\n"].each do |bytes|
      assert_equal :STATUS_LINE, assert_raises(RUBY::Failure, bytes) { parse(bytes) }.code
    end
  end

  def test_a_status_line_is_no_field_line
    assert_raises(RUBY::Failure) { parse("HTTP/1.1 200 OK\r\nHTTP/1.1 200 OK\r\n\r\n") }
  end

  def test_control_characters_are_refused_in_any_line
    [0, 10, 11, 13, 31, 127].each do |byte|
      %W[O#{byte.chr}K\r\nServer:x OK\r\nServer:x#{byte.chr}y].each do |part|
        bytes = "HTTP/1.1 200 #{part}\r\n\r\n"
        assert_raises(RUBY::Failure, bytes.inspect) { parse(bytes) }
      end
    end
  end

  def test_encodings_of_texts
    head = parse("HTTP/1.1 200 \xFC\r\nServer: x\r\nTitle: \xFC\r\n\r\n".b)
    assert_equal [Encoding::BINARY, "\xFC".b], [head.reason.encoding, head.reason]
    assert_equal [[Encoding::US_ASCII] * 2, [Encoding::US_ASCII, Encoding::BINARY]],
                 head.fields.map { |pair| pair.map(&:encoding) }
  end

  private

  def parse(bytes)
    head = RUBY::Head.new(limits, false, false, @known)
    assert head.parse(bytes.b), "the head is incomplete"
    head
  end

  def limits
    @limits ||= RUBY::HeadLimits.of(65_536, 100, false)
  end
end
