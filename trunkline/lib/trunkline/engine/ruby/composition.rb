# frozen_string_literal: true

require_relative "../../comma_list"
require_relative "../../redacted"

module Trunkline
  # See request_building.rb.
  class RequestBuilder
    # The header fields as they are sent; whether to wait for 100 (Continue) before the content, and whether the
    # connection is closed afterwards.
    Lines = Struct.new(:text, :expects, :close) { include Redacted }

    # The header fields of requests to one origin, in the order in which they are sent. Those that describe the content
    # of one request follow at the end.
    class Composition
      include Redacted

      METHODS_WITH_LENGTH = %w[POST PUT PATCH].to_h { |name| [name, true] }.freeze
      # Names of fields that change how the request is sent, by their number of bytes, which all differ.
      MEANT = %w[host range expect connection content-length accept-encoding].to_h do |name|
        [name.bytesize, name]
      end.freeze
      # Those of them that are not sent at their place in the list.
      PLACED = %w[host content-length].freeze
      private_constant :METHODS_WITH_LENGTH, :MEANT, :PLACED

      # @return [Integer, nil] the value of a Content-Length field
      attr_reader :declared

      # @param groups [Array<Array>] groups of pairs: a field replaces fields of its name in earlier groups
      # @param facts [Hash] what all requests of the client share
      # @param upgrades [Boolean] whether the requests open a WebSocket
      def initialize(origin, groups, facts, upgrades)
        @host = origin.authority
        @decode = facts[:decode]
        @expect_above = facts[:expect_above]
        @close = false
        @pairs = merge(groups).reject { |name, value| taken?(name, value) }
        @text = text(upgrades).freeze
        @lines = Lines.new(@text, false, @close).freeze
      end

      # @param payload [Payload]
      # @return [Integer, nil] bytes of the content, -1: chunked; nil: the Content-Length field contradicts the content
      def length(payload)
        known = payload.length
        return known unless @declared

        @declared if known.negative? || known == @declared
      end

      # @param length [Integer] see #length
      # @return [Lines] of one request
      def lines(method, payload, length)
        return @lines unless payload.given || METHODS_WITH_LENGTH.key?(method)

        expects = payload.given && expects?(length)
        framing = length.negative? ? "Transfer-Encoding: chunked\r\n" : "Content-Length: #{length}\r\n"
        framing = "#{framing}Expect: 100-continue\r\n" if expects
        Lines.new(@text + framing, expects, @close)
      end

      private

      # Content of unknown length counts as larger than any limit.
      def expects?(length) = !@expect_above.nil? && (length.negative? || length > @expect_above)

      # A nil value also replaces earlier fields.
      def merge(groups)
        groups.inject { |earlier, later| earlier.reject { |name, _| given?(later, name) }.concat(later) }
      end

      def given?(pairs, name)
        size = name.bytesize
        pairs.any? { |other, _| other.bytesize == size && other.casecmp(name).zero? }
      end

      # Notes a field that changes how the request is sent. @return [Boolean] whether it has another place in the head
      def taken?(name, value)
        meant = MEANT[name.bytesize]
        return false unless meant && name.casecmp(meant).zero?

        note(meant, value)
        PLACED.include?(meant)
      end

      def note(name, value)
        case name
        when "host" then @host = value || @host
        when "content-length" then @declared = value&.to_i
        when "expect" then @expect_above = nil
        when "connection" then @close ||= !value.nil? && CommaList.include?(value, "close")
        else @decode = false
        end
      end

      def text(upgrades)
        text = "Host: #{@host}\r\n".b
        @pairs.each { |name, value| text << bytes(name) << ": " << bytes(value) << "\r\n" if value }
        text << "Connection: Upgrade\r\nUpgrade: websocket\r\n" if upgrades
        text << "Accept-Encoding: " << Engine::CODINGS << "\r\n" if @decode
        text
      end

      # Strings of different encodings can be joined as bytes only.
      def bytes(text) = text.ascii_only? ? text : text.b
    end
    private_constant :Lines, :Composition
  end
end
