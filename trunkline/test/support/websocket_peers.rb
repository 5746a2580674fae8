# frozen_string_literal: true

require_relative "websocket_peer"

# For tests of WebSockets over HTTP/1.1.
module WebSocketPeers
  # A server of which each connection becomes a WebSocket; the options are WebSocketPeer#accept's.
  def peers(tls: nil, **accepting, &script)
    serve(tls: tls) { |connection| script.call(WebSocketPeer.new(connection).accept(**accepting)) }
  end

  # The socket is aborted when the test is over.
  def opened_socket(socket) = socket.tap { (@sockets ||= []) << socket }

  def teardown
    @sockets&.each(&:abort)
    super
  end
end
