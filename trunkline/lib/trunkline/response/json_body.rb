# frozen_string_literal: true

require "json"
require_relative "../json_stream"

module Trunkline
  class Response
    # Parses a JSON body: as a whole, or value by value while it arrives.
    module JSONBody
      # @param options [Hash] for JSON.parse, such as symbolize_names: true, or for json_decoder:
      # @return [Object, nil] the parsed body; nil for a response with status 204 or 205, and for an empty body
      # @raise [DecodeError] when the body is not JSON; its cause is a JSON::ParserError, or the error of json_decoder:
      def json(**options)
        text = body
        return if text.empty? || status == 204 || status == 205

        text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY # RFC 8259 8.1
        _decode_json(text, options)
      end

      # Yields the values of a JSON body one by one, each as soon as all its bytes have arrived. Only the current value
      # is kept in memory. Text outside of the yielded values is checked, too.
      #
      # Without a path, the Content-Type selects the values: those of JSON lines (application/x-ndjson,
      # application/jsonl and the like) or of a JSON text sequence (application/json-seq, RFC 7464). For any other type,
      # the first byte selects: 1E begins a sequence; "[" begins an array, whose elements are yielded; any other byte
      # begins values that are separated by line ends.
      #
      # A path selects values in one document. It has a segment for each level: a String with dots between the segments,
      # or an Array of segments. A segment is the name of a member, the index of an element, or "*" for every member and
      # element: "items.*" selects the elements of {"items": [...]}, ["a.b", "*", 0] the first element of each value in
      # the member "a.b", and "" the whole document. If nothing matches the path, nothing is yielded.
      #
      # A byte order mark at the beginning is skipped. A response without a body yields nothing. When the block is left
      # early, the connection is closed.
      #
      # @param path [String, Array<String, Symbol, Integer>, nil]
      # @param limit [Integer, nil] maximum bytes of a value; nil for no limit
      # @param options [Hash] for JSON.parse, such as symbolize_names: true, or for json_decoder:; max_nesting: counts
      #   from the root of the document
      # @yield [value]
      # @return [self, Enumerator] an Enumerator without a block
      # @raise [DecodeError] when the body is not JSON. The message contains the byte and line, both counted from 1, and
      #   the position in the document, with indexes from 0, but no part of the body. Its cause is a JSON::ParserError,
      #   or the error of json_decoder:. Values before the error have been yielded
      # @raise [BodyTooLarge] when a value is longer than limit
      # @raise [InvalidRequest] for another limit
      # @raise [Error] as a call does, when the body is truncated or a timeout expires
      def each_json(path = nil, limit: JSONStream::VALUE_BYTES, **options, &block)
        # Events#each_event explains why enum_for is not used.
        return Enumerator.new { |out| each_json(path, limit: limit, **options) { |value| out << value } } unless block

        JSONStream.new(self, path, limit, options).each(&block)
        self
      ensure
        close if block
      end

      # @param text [String]
      # @param options [Hash] of JSON.parse, or of json_decoder:
      # @yieldreturn [String] which value it is, for the error
      # @return [Object]
      # @raise [DecodeError]
      # @api private
      def _decode_json(text, options, &describe_value)
        decoder = request.origin&.json_decoder
        decoder ? decoded_by(decoder, text, options, describe_value) : JSON.parse(text, **options)
      rescue JSON::ParserError, EncodingError => error
        reason, place = reason_and_place(error, text)
        cause = error.is_a?(JSON::ParserError) ? error.class.new("#{reason}#{place}") : JSON::ParserError.new(reason)
        cause.set_backtrace(error.backtrace)
        raise _json_error(describe_value ? "#{reason} #{describe_value.call}" : cause.message), cause: cause
      end

      # @param reason [String]
      # @return [DecodeError]
      # @api private
      def _json_error(reason)
        type = self["content-type"]&.inspect || "no type"
        DecodeError.about(self, "was answered #{status} and a body that is no JSON, of #{type}: #{reason}; " \
                                "the server has the whole request")
      end

      # Yields a body that is kept in memory at each call, but a streamed body only once.
      #
      # @yield [chunk] a String of bytes in UTF-8, which the next chunk may overwrite
      # @raise [DecodeError] for bytes that are not of the body's charset
      # @api private
      def _each_json_chunk
        if !@streamed
          yield utf8(body.dup) unless body.empty? # the block may change the body
        elsif OCTETS.include?(external_encoding)
          buffer = String.new
          yield buffer while next_bytes(buffer)
        else
          while (chunk = read)
            yield utf8(chunk)
          end
        end
      end

      # Encodings whose bytes are read as UTF-8 (RFC 8259 8.1).
      OCTETS = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].freeze
      private_constant :OCTETS

      private

      def utf8(text)
        OCTETS.include?(text.encoding) ? text : text.encode(Encoding::UTF_8)
      rescue EncodingError
        reason = "bytes that are not valid #{text.encoding}"
        raise _json_error(reason), cause: JSON::ParserError.new(reason)
      end

      # The message of the decoder's own error may quote the body, so it appears only in the cause.
      def decoded_by(decoder, text, options, describe_value)
        options.empty? ? decoder.call(text) : decoder.call(text, **options)
      rescue JSON::ParserError, EncodingError
        raise
      rescue StandardError => error
        raise _json_error(["json_decoder: raised #{error.class}", describe_value&.call].compact.join(" "))
      end

      # @return [Array<String>] the reason and the place that a JSON::ParserError or EncodingError gives, without its
      #   quotes from the body, which may contain a credential
      def reason_and_place(error, text)
        return ["bytes that are not valid #{text.encoding}", ""] if error.is_a?(EncodingError)

        message = error.message.scrub # a quote from the body may be invalid in its encoding
        reason = message[/\A(?:\d+: )?([^'"`:,\\]+?)(?: at)?(?: *['"`:,\\]|\z)/, 1] || "invalid JSON"
        place = message[/ at line \d+ column \d+\z/].to_s
        [reason.delete_suffix(place), place]
      end
    end
  end
end
