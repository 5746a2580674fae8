# frozen_string_literal: true

require_relative "../test_helper"
require "http/2"
require "trunkline/engine/ruby/field_section"
require "trunkline/engine/ruby/http2/connection"

# What the engine in Ruby says of a request that waits behind a full socket.
class TestHTTP2ConnectionInRuby < Minitest::Test
  HTTP2 = Trunkline::Engine::Ruby::HTTP2
  FIELDS = [%w[:method GET], %w[:scheme http], %w[:authority a], %w[:path /]].freeze

  Headers = Struct.new(:fields) do
    def connects? = false
  end

  FullSocket = Struct.new(:socket) do
    def write(_) = :wait_writable
    def read(*) = :wait_readable
    def started? = false
  end

  Broken = Class.new(FullSocket) do
    def write(_) = raise(Trunkline::Engine::Ruby::Failure, :RESET)
    def read(*) = nil
  end

  def opened_on(stream, body: false)
    @connection = HTTP2::Connection.new(stream, 0.0)
    @connection.session.open(nil, Headers.new(FIELDS), body: body, head_request: false, limits: nil)
  end

  def test_what_is_composed_is_written_later
    pair = UNIXSocket.pair
    one = opened_on(FullSocket.new(pair.first))
    @connection.write(0.0)
    assert_equal :all, @connection.sent(one)
    assert_equal :partial, @connection.sent(opened_on(FullSocket.new(pair.first), body: true))
    assert_equal :none, @connection.sent(nil)
  ensure
    pair.each(&:close)
  end

  def test_on_a_connection_that_is_over_nothing_is
    pair = UNIXSocket.pair
    one = opened_on(Broken.new(pair.first))
    @connection.write(0.0)
    assert_equal :none, @connection.sent(one)
  ensure
    pair.each(&:close)
  end
end
