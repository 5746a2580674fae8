# frozen_string_literal: true

require "websocket/driver"
require_relative "../redacted"

module Trunkline
  module WebSocket
    # The driver of the gem websocket-driver, without its opening handshake, which is an ordinary request here. It is
    # stricter than the gem where RFC 6455 requires that of a client.
    #
    # @api private
    # rubocop:disable-next Style/SignalException -- fail is the gem's
    class Driver < ::WebSocket::Driver::Hybi
      include Redacted

      # The object to which the gem writes in place of a socket.
      Output = Struct.new(:bytes) do
        include Redacted

        def write(more) = bytes << more
      end

      # @param output [String] a BINARY String, to which frames are appended
      def initialize(output, options)
        super(Output.new(output), options)
      end

      # @return [String, nil] the value of Sec-WebSocket-Extensions to send
      def offer = @extensions.generate_offer

      # @param field [String, nil] the server's Sec-WebSocket-Extensions
      # @raise [ArgumentError]
      def activate(field)
        @extensions.activate(field)
      rescue ::WebSocket::Extensions::Parser::ParseError => error
        raise ArgumentError, error.message
      end

      def begin = open

      private

      # A server must not mask its frames (RFC 6455 5.1).
      def parse_length(octet)
        return super if octet < MASK

        fail(:protocol_error, "Received a masked frame")
      end

      # The gem stores one close code for both sides, and treats a reason that is not UTF-8 as a protocol error.
      def emit_frame(bytes)
        return super unless @frame.opcode == OPCODES[:close]

        code, reason = bytes.unpack("S>a*") if bytes.bytesize >= 2
        reason = reason.to_s.dup.force_encoding(Encoding::UTF_8)
        return fail(:encoding_error, "Received a reason that is no UTF-8") unless reason.valid_encoding?
        return fail(:protocol_error, "Received a wrong close frame") unless close_allowed?(bytes, code)

        emit(:closed_by_peer, code, reason)
        super
      end

      def close_allowed?(bytes, code)
        bytes.empty? || (code && ((ERROR_CODES + [1012, 1013, 1014]).include?(code) || code.between?(3000, 4999)))
      end
    end
  end
end
