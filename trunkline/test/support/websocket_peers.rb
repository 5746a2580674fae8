# frozen_string_literal: true

require_relative "http2/frame_server"
require_relative "websocket_stream_peer"

# Servers for tests of WebSockets.
module WebSocketPeers
  # A server on which each connection becomes a WebSocket; the options are those of WebSocketPeer#accept.
  def peers(tls: nil, **accepting, &script)
    serve(tls: tls) { |connection| script.call(WebSocketPeer.new(connection).accept(**accepting)) }
  end

  # The same over HTTP/2: each request becomes a WebSocket.
  def stream_peers(tls: nil, **accepting, &script)
    opened(FrameServer.new(tls: tls, settings: { enable_connect_protocol: 1 }, grants: :read) do |stream|
      script.call(WebSocketStreamPeer.new(stream).accept(**accepting))
    end)
  end

  # Registers a socket, which is aborted when the test is over.
  def opened_socket(socket) = socket.tap { (@sockets ||= []) << socket }

  def teardown
    @sockets&.each(&:abort)
    super
  end
end
