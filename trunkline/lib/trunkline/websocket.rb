# frozen_string_literal: true

require_relative "errors"
require_relative "stream_options"
require_relative "timeouts"
require_relative "websocket/framing"
require_relative "websocket/handshake"
require_relative "websocket/socket"

module Trunkline
  # WebSockets, which Client#websocket opens (RFC 6455, RFC 8441).
  module WebSocket
    # Maximum size of a received message in bytes, unless max_message_bytes: is given.
    MAX_MESSAGE_BYTES = 16 * 1024 * 1024
    # Options that ensure that the response is the server's own response to this request.
    FORCED_OPTIONS = { cache: false, coalesce: false, hedge: false, follow: false, raise: false }.freeze
    SCHEMES = { "ws" => "http", "wss" => "https" }.freeze
    private_constant :FORCED_OPTIONS, :SCHEMES

    class << self
      # @param send_upgrade [#call] called with a URL, the options of a call and an Array; sends a GET that asks to
      #   switch protocols, and adds each Response to the Array before anything is sent
      # @return [Socket]
      # @api private
      def open(send_upgrade, url, timeouts, protocols:, compress:, max_message_bytes:, ping:, options:)
        ping = seconds(ping)
        framing = Framing.new(max_message_bytes: bytes(max_message_bytes), compress: flag("compress", compress))
        handshake = Handshake.new(protocols: protocols, extensions: framing.offer)
        call = StreamOptions.of(options, timeouts, {}).except(:stream).merge(FORCED_OPTIONS)
        call = call.merge(headers: StreamOptions.merge_default_fields(handshake.fields, call[:headers]))
        response = send_upgrade.call(http(url), call, begun = [])
        check_handshake(response, handshake, framing)
        socket = Socket.new(response, response._switched, framing, Timeouts.of(call[:timeout]), ping)
      ensure
        begun&.each { |one| one._switched&.close } unless socket # an interrupt may come at any time
      end

      private

      # A response with an error status raises like that of any other call.
      def check_handshake(response, handshake, framing)
        response.raise_for_status!
        fault = handshake.fault(response)
        raise InvalidResponse.about(response, fault.sub(/\Ahas /, "was answered by a head that has ")) if fault

        framing.begin(response["sec-websocket-extensions"])
      rescue ArgumentError => error
        raise InvalidResponse.about(response, "was answered with extensions that were not asked for: #{error.message}")
      end

      def http(url)
        text = url.to_s
        scheme = text[/\A(wss?):/i, 1] or return url
        text.sub(/\Awss?/i, SCHEMES.fetch(scheme.downcase))
      end

      def bytes(value)
        return value if value.is_a?(Integer) && value.between?(1, 1 << 31)

        raise InvalidRequest.of("max_message_bytes", value, "a number of bytes from 1 to 2,147,483,648")
      end

      def flag(name, value)
        return value if [true, false].include?(value)

        raise InvalidRequest.of(name, value, "true or false")
      end

      def seconds(value)
        return value&.to_f if value.nil? || (value.is_a?(Numeric) && value.real? && value.positive?)

        raise InvalidRequest.of("ping", value, "a positive number of seconds, or nil")
      end
    end
  end
end
