# frozen_string_literal: true

require "json"
require_relative "../json_stream"

module Trunkline
  class Response
    # A body of JSON: whole, or value by value as it comes.
    module JSONBody
      # @param options [Hash] for JSON.parse, such as symbolize_names: true, or for json_decoder:
      # @return [Object, nil] the body, parsed; nil for an answer of status 204 or 205, and for an empty body
      # @raise [DecodeError] when the body is no JSON; its cause is a JSON::ParserError, or what json_decoder: raised
      def json(**options)
        text = body
        return if text.empty? || status == 204 || status == 205

        text = text.dup.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY # RFC 8259 8.1
        _decode_json(text, options)
      end

      # Yields the values of a body of JSON one by one, each as soon as the bytes that have come hold all of it, and
      # keeps no more of the body than the value that it is in. What is passed over is checked too.
      #
      # Without a path these are, by Content-Type, the values of JSON lines (application/x-ndjson, application/jsonl
      # and the like) or of a JSON text sequence (application/json-seq, RFC 7464). Of any other type the first byte
      # tells: 1E begins a sequence; "[" an array, whose elements they are; any other byte values that are divided by
      # line ends.
      #
      # A path names values in one document: a segment for each level, divided by dots, or an Array of them. A segment
      # is the name of a member, the index of an element, or "*" for every member and element: "items.*" are the
      # elements of {"items": [...]}, ["a.b", "*", 0] the first elements of what is in the member "a.b", and "" is the
      # document. Where nothing is at the path, nothing is yielded.
      #
      # A byte order mark at the beginning is passed over. An answer without a body yields nothing. When the block is
      # left early, the connection is closed.
      #
      # @param path [String, Array<String, Symbol, Integer>, nil]
      # @param limit [Integer, nil] bytes of the longest value; nil: any
      # @param options [Hash] for JSON.parse, such as symbolize_names: true, or for json_decoder:; max_nesting: counts
      #   from the root of the document
      # @yield [value]
      # @return [self, Enumerator] an Enumerator without a block
      # @raise [DecodeError] when it is no JSON: the message says at which byte and line, both from 1, and where in the
      #   document, with indexes from 0, but quotes nothing of it. Its cause is a JSON::ParserError, or what
      #   json_decoder: raised. What came before the error has been yielded
      # @raise [BodyTooLarge] when a value is longer than limit
      # @raise [InvalidRequest] for another limit
      # @raise [Error] what a call raises when the body breaks off or a limit of time is reached
      def each_json(path = nil, limit: JSONStream::VALUE_BYTES, **options, &block)
        # (see Events#each_event)
        return Enumerator.new { |out| each_json(path, limit: limit, **options) { |value| out << value } } unless block

        JSONStream.new(self, path, limit, options).each(&block)
        self
      ensure
        close if block
      end

      # @param text [String]
      # @param options [Hash] of JSON.parse, or of json_decoder:
      # @yieldreturn [String] of which value it is, for the error
      # @return [Object]
      # @raise [DecodeError]
      # @api private
      def _decode_json(text, options, &of_which)
        decoder = request.origin&.json_decoder
        decoder ? decoded_by(decoder, text, options, of_which) : JSON.parse(text, **options)
      rescue JSON::ParserError, EncodingError => error
        reason, place = reason_and_place(error, text)
        cause = error.is_a?(JSON::ParserError) ? error.class.new("#{reason}#{place}") : JSON::ParserError.new(reason)
        cause.set_backtrace(error.backtrace)
        raise _no_json(of_which ? "#{reason} #{of_which.call}" : cause.message), cause: cause
      end

      # @param why [String]
      # @return [DecodeError]
      # @api private
      def _no_json(why)
        type = self["content-type"]&.inspect || "no type"
        DecodeError.about(self, "was answered #{status} and a body that is no JSON, of #{type}: #{why}; " \
                                "the server has the whole request")
      end

      # What is kept whole is given again and again, a stream once.
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

      # What is UTF-8, or taken for it (RFC 8259 8.1).
      OCTETS = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].freeze
      private_constant :OCTETS

      private

      def utf8(text)
        OCTETS.include?(text.encoding) ? text : text.encode(Encoding::UTF_8)
      rescue EncodingError
        why = "bytes that are not valid #{text.encoding}"
        raise _no_json(why), cause: JSON::ParserError.new(why)
      end

      # The message of the decoder's own error may quote the body; it is the cause's alone.
      def decoded_by(decoder, text, options, of_which)
        options.empty? ? decoder.call(text) : decoder.call(text, **options)
      rescue JSON::ParserError, EncodingError
        raise
      rescue StandardError => error
        raise _no_json(["json_decoder: raised #{error.class}", of_which&.call].compact.join(" "))
      end

      # @return [Array<String>] what a JSON::ParserError or EncodingError says; without what it quotes of the body,
      #   which may hold a credential
      def reason_and_place(error, text)
        return ["bytes that are not valid #{text.encoding}", ""] if error.is_a?(EncodingError)

        message = error.message.scrub # what it quotes may be no text
        reason = message[/\A(?:\d+: )?([^'"`:,\\]+?)(?: at)?(?: *['"`:,\\]|\z)/, 1] || "invalid JSON"
        place = message[/ at line \d+ column \d+\z/].to_s
        [reason.delete_suffix(place), place]
      end
    end
  end
end
