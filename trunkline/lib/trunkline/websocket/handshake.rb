# frozen_string_literal: true

require "digest"
require "securerandom"
require_relative "../comma_list"
require_relative "../errors"
require_relative "../redacted"

module Trunkline
  module WebSocket
    # The request fields of one opening handshake (RFC 6455 4.1), and the check of the response.
    #
    # @api private
    class Handshake
      include Redacted

      GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
      TOKEN = /\A[!#$%&'*+\-.^_`|~0-9A-Za-z]+\z/

      # @param protocols [String, Array<String>, nil] subprotocols that the caller supports, in order of preference
      # @param extensions [String, nil] the value of Framing#offer
      # @raise [InvalidRequest]
      def initialize(protocols: nil, extensions: nil)
        @protocols = Array(protocols)
        unless @protocols.uniq == @protocols && @protocols.all? { |one| one.is_a?(String) && TOKEN.match?(one) }
          raise InvalidRequest.of("protocols", protocols, "names of protocols, each a token and there once")
        end

        @extensions = extensions
        @key = [SecureRandom.random_bytes(16)].pack("m0")
      end

      # @return [Hash{String => String}] the fields other than Connection and Upgrade
      def fields
        { "Sec-WebSocket-Version" => "13", "Sec-WebSocket-Key" => @key, "Sec-WebSocket-Extensions" => @extensions,
          "Sec-WebSocket-Protocol" => (@protocols.join(", ") unless @protocols.empty?) }.compact
      end

      # @param response [#status, #[]]
      # @return [String, nil] what is wrong with the response
      def fault(response)
        fault_of_switch(response) || fault_of_protocol(response["sec-websocket-protocol"])
      end

      private

      # Over HTTP/2, any 2xx opens the WebSocket, and there is no key (RFC 8441 5.1).
      def fault_of_switch(response)
        over_http2 = response.http_version == "2"
        switched = over_http2 ? response.status.between?(200, 299) : response.status == 101
        return "was answered #{response.status}, and not #{over_http2 ? 200 : 101}" unless switched

        fault_of_upgrade(response) unless over_http2
      end

      def fault_of_upgrade(response)
        return "has no Upgrade: websocket" unless response["upgrade"].to_s.strip.casecmp?("websocket")

        return "has no Connection: Upgrade" unless CommaList.include?(response["connection"].to_s, "upgrade")

        accept = Digest::SHA1.base64digest(@key + GUID)
        "has a wrong Sec-WebSocket-Accept" unless response["sec-websocket-accept"].to_s.strip == accept
      end

      def fault_of_protocol(chosen)
        "has chosen a protocol that was not asked for" unless chosen.nil? || @protocols.include?(chosen)
      end
    end
  end
end
