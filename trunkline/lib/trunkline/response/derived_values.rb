# frozen_string_literal: true

require_relative "../curl_command"
require_relative "../links"
require_relative "../server_timing"

module Trunkline
  class Response
    # Values that are derived from a response's status, header fields and body.
    module DerivedValues
      CHARSET = /;\s*charset\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/i

      # @return [String, nil] the media type of Content-Type, without its parameters, down-cased: "application/json"
      def content_type
        type = self["content-type"]
        type && type[/\A[^;,]*/].strip.downcase
      end

      # @return [String, nil] the charset of Content-Type as it was sent, such as "utf-8"
      def charset
        quoted, plain = self["content-type"]&.match(CHARSET)&.captures
        quoted ? quoted.gsub(/\\(.)/, '\1') : plain
      end

      # @return [Links] the Link fields (RFC 8288), with URLs resolved against the response's URL
      def links
        Links.parse(self["link"], request.uri)
      end

      # @return [Array<ServerTiming>] times that the server measured: the Server-Timing fields, in order
      def server_timings = ServerTiming.parse(self["server-timing"])

      # @param secrets [Boolean] whether to show credentials: values of fields, parameters and JSON members that are
      #   credentials by their names, or that the client's redact: names
      # @return [String] the request as a curl command, which reads a body that is not text from its standard input
      def to_curl(secrets: false) = request.to_curl(secrets: secrets)

      # Supports pattern matching:
      #
      #   case response
      #   in { status: 200, json: { id: } } then id
      #   in { status: 404 } then nil
      #   end
      #
      # @param keys [Array<Symbol>, nil] nil for all
      # @return [Hash] status, reason, ok, url, headers, content_type, body, and json: the parsed body with Symbols as
      #   names, nil when it is no JSON
      def deconstruct_keys(keys)
        keys = keys ? keys & ATTRIBUTES.keys : ATTRIBUTES.keys
        keys.to_h { |key| [key, instance_exec(&ATTRIBUTES[key])] }
      end

      # @return [Boolean] whether both are complete, and have the same URL, status, fields and body
      def ==(other)
        return true if equal?(other)
        return false unless other.is_a?(Response) && complete? && other.complete?

        [url, status, headers.to_a, body] == [other.url, other.status, other.headers.to_a, other.body]
      end

      # @raise [TypeError] always
      def dup(*)
        raise TypeError, "a response is not copied: it may hold a connection; keep its status, headers and body"
      end
      alias clone dup

      # Prevents Marshal and YAML from writing a response.
      # @raise [TypeError] always
      def marshal_dump
        raise TypeError, "neither Marshal nor YAML writes a response: it may hold a connection; write its status, " \
                         "headers.to_h and body"
      end

      private

      def json_or_nil
        json(symbolize_names: true)
      rescue DecodeError
        nil
      end

      ATTRIBUTES = {
        status: -> { status }, reason: -> { reason }, ok: -> { ok? }, url: -> { url }, headers: -> { headers },
        content_type: -> { content_type }, body: -> { body }, json: -> { json_or_nil }
      }.freeze
      private_constant :ATTRIBUTES
    end
  end
end
