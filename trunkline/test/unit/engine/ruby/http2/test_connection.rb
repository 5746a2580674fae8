# frozen_string_literal: true

require_relative "../../../../test_helper"
require "http/2"
require "trunkline/engine/ruby/field_section"
require "trunkline/engine/ruby/http2/connection"

# How much of a request counts as sent when the engine in Ruby writes to a full or a broken socket.
class TestHTTP2ConnectionInRuby < Minitest::Test
  HTTP2 = Trunkline::Engine::Ruby::HTTP2
  FIELDS = [%w[:method GET], %w[:scheme http], %w[:authority a], %w[:path /]].freeze

  Headers = Struct.new(:fields) do
    def connects? = false
  end

  FullSocket = Struct.new(:socket) do
    def write(_) = :wait_writable
    def read(*) = :wait_readable
    def partial_record? = false
  end

  Broken = Class.new(FullSocket) do
    def write(_) = raise(Trunkline::Engine::Ruby::Failure, :RESET)
    def read(*) = nil
  end

  # @return [Symbol] how much of the request counts as sent after an attempt to write it
  def sent(stream, body: false)
    sockets = UNIXSocket.pair
    connection = HTTP2::Connection.new(stream.new(sockets.first), 0.0)
    headers = Headers.new(FIELDS)
    request = connection.session.open(nil, headers, body: body, head_request: false, limits: nil)
    connection.write(0.0)
    connection.sent(request)
  ensure
    sockets&.each(&:close)
    connection.session.release(request) # gives its window back to the process, which other tests measure
  end

  def test_frames_are_written_later
    assert_equal :all, sent(FullSocket)
    assert_equal :partial, sent(FullSocket, body: true)
  end

  def test_on_a_connection_that_is_over_nothing_is_written
    assert_equal :none, sent(Broken)
  end
end
