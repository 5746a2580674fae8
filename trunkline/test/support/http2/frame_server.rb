# frozen_string_literal: true

require_relative "../scripted_server"
require_relative "frame_connection"

# An HTTP/2 server that sends exactly the frames that a test specifies; over plain TCP (prior knowledge), or over TLS
# when `tls` is a context that chooses h2. The block is the script of each request, in a separate thread:
#
#   FrameServer.new { |stream| stream.answer("hello") }
#   FrameServer.new(settings: { max_concurrent_streams: 1 }) do |stream|
#     stream.informational(103, "link" => "</a>")
#     stream.headers(200, "content-type" => "text/plain")
#     stream.data("in two", padding: 7)
#     stream.trailers("x-sum" => "1")
#   end
#
# A test inspects server.connections, and sends frames on them: see FrameConnection for its methods.
class FrameServer < ScriptedServer
  # @param options [Hash] options of FrameConnection.new
  def initialize(tls: nil, handshake: true, **options, &script)
    @framed = []
    super(tls: tls, handshake: handshake) do |line|
      connection = FrameConnection.new(line, on_stream: method(:note), **options, &script)
      @lock.synchronize { @framed[line.number - 1] = connection }
      connection.serve
    end
  end

  # @return [Array<FrameConnection>]
  def connections = @lock.synchronize { @framed.compact }

  # The only connection so far, once there is one.
  def connection = wait_until { connections.first }

  # Every request so far, in the order of arrival.
  def streams = @lock.synchronize { @streams.to_a.dup }

  private

  def note(stream)
    @lock.synchronize { (@streams ||= []) << stream }
    record(stream.request)
  end
end
