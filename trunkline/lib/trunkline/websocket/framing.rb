# frozen_string_literal: true

require_relative "../errors"
require_relative "../loading"
require_relative "../redacted"
require_relative "deflate"

module Trunkline
  module WebSocket
    # Converts between the messages of one WebSocket and their frames (RFC 6455 5), without a socket: received bytes are
    # passed to <<, #read returns messages, and #take_output returns the bytes to send. Pings are answered
    # automatically.
    #
    # Only one thread at a time may use a Framing.
    #
    # @api private
    class Framing
      include Redacted

      # Close codes that an endpoint may send (RFC 6455 7.4; 1012 to 1014 were registered later).
      CODES = [*1000..1003, *1007..1014, *3000..4999].freeze
      # The maximum bytes of the payload of a ping or close frame, including the close code.
      CONTROL = 125

      # @raise [InvalidRequest] without the gem
      def self.load_gem
        Loading.in_thread_if_needed do
          require "websocket/driver"
          require_relative "driver"
          # Loads the files that the gems would autoload later.
          [::WebSocket::Driver, ::WebSocket::Driver::Hybi, ::WebSocket::Extensions].each do |part|
            part.constants.each { |name| part.const_get(name) }
          end
        end
      rescue LoadError => error
        raise InvalidRequest, "websocket: needs the gem websocket-driver: add gem \"websocket-driver\", \"~> 0.8\" " \
                              "to the Gemfile (#{error.message})"
      end

      # @return [Integer, nil] of the close frame received; nil if there was none, or none with a code
      attr_reader :close_code
      # @return [String, nil]
      attr_reader :close_reason
      # @return [String, nil] the error of the peer that ended the WebSocket
      attr_reader :fault

      # @param max_message_bytes [Integer] the limit for a message, inflated
      # @param compress [Boolean] whether to offer permessage-deflate
      # @raise [InvalidRequest] without the gem websocket-driver
      def initialize(max_message_bytes:, compress: false)
        Framing.load_gem
        @output = "".b
        @messages = []
        @driver = Driver.new(@output, max_length: max_message_bytes, masking: true)
        @driver.add_extension(Deflate.new(max_message_bytes)) if compress
        listen
      end

      # @return [String, nil] the value of Sec-WebSocket-Extensions to send
      def offer = @driver.offer

      # @param extensions [String, nil] Sec-WebSocket-Extensions of the response
      # @return [void]
      # @raise [ArgumentError] when the server has chosen an extension that was not offered
      def begin(extensions = nil)
        @driver.activate(extensions)
        @driver.begin
      end

      # @param bytes [String]
      # @return [self]
      def <<(bytes)
        @driver.parse(bytes)
        self
      end

      # @return [String, nil] the next message: UTF-8 for text, BINARY otherwise; nil if none is complete
      def read = @messages.shift

      # @return [Boolean] whether there are bytes to send
      def output? = !@output.empty?

      # @return [String] the bytes to send; the caller owns the String
      def take_output
        output = @output.dup
        @output.clear
        output
      end

      # @param message [String] sent as binary if its encoding is BINARY, as text otherwise
      # @return [Boolean] false if the WebSocket is closed and nothing is sent
      # @raise [InvalidRequest] for text that cannot be sent as UTF-8
      def write(message)
        return @driver.frame(message, :binary) if message.encoding == Encoding::BINARY

        @driver.frame(utf8(message), :text)
      end

      # @param payload [String] at most 125 bytes
      # @return [Boolean] see #write
      # @raise [InvalidRequest]
      def ping(payload = "")
        refuse("ping", payload, "at most #{CONTROL} bytes") if payload.bytesize > CONTROL

        @driver.frame(payload.b, :ping)
      end

      # Starts the closing handshake, or answers the close frame received.
      #
      # @param code [Integer] 1000 to 1003, 1007 to 1014, or 3000 to 4999
      # @param reason [String] at most 123 bytes
      # @return [Boolean] whether a frame is to be sent
      # @raise [InvalidRequest]
      def close(code = 1000, reason = "")
        refuse("code", code, "1000 to 1003, 1007 to 1014, or 3000 to 4999") unless CODES.include?(code)
        reason = utf8(reason)
        refuse("reason", reason, "at most #{CONTROL - 2} bytes") if reason.bytesize > CONTROL - 2

        @driver.close(reason, code)
      end

      # @return [Boolean] whether both sides have stopped sending
      def closed? = @driver.ready_state == 3

      private

      def listen
        @driver.on(:message) { |event| @messages << event.data }
        @driver.on(:error) { |error| @fault = error.message }
        @driver.on(:closed_by_peer) do |code, reason|
          @close_code = code
          @close_reason = reason
        end
      end

      def utf8(text)
        text = text.encode(Encoding::UTF_8) unless text.encoding == Encoding::BINARY
        text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY
        return text if text.valid_encoding?

        raise InvalidRequest, "write: the text is not valid UTF-8; binary messages are Strings with the encoding BINARY"
      rescue EncodingError
        raise InvalidRequest, "write: the text cannot be converted to UTF-8"
      end

      def refuse(name, value, allowed)
        raise InvalidRequest.of(name, value, allowed)
      end
    end
  end
end
