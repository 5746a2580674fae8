# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "../nghttpx"
require_relative "frame_server"

# Base of the tests of HTTP/2: servers that speak it frame by frame, and clients that require it.
class HTTP2Test < TrunklineTest
  # serve_frames { |stream| stream.answer("hello") }; options are those of FrameServer, and tls: true.
  def serve_frames(tls: false, **options, &script)
    context = TestCA.server_context(:localhost, alpn: %w[h2]) if tls
    script ||= :answer.to_proc
    opened(FrameServer.new(tls: context, **options, &script))
  end

  # A client that speaks HTTP/2 and nothing else: by ALPN on https, with prior knowledge on http.
  def h2_client(base = nil, **options) = secure_client(base, http: :h2, **options)

  # Runs the blocks in separate threads, and returns their results in order.
  def in_threads(count, &block) = Array.new(count) { |number| Thread.new { block.call(number) } }.map(&:value)

  # Returns the block's result, or the error that it raised.
  def outcome
    yield
  rescue Trunkline::Error => error
    error
  end
end
