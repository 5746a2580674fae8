# frozen_string_literal: true

module Trunkline
  module XML
    # Converts documents to UTF-8, and computes positions in them.
    # @api private
    module Unicode
      # The first bytes of a document that identify its encoding: a byte order mark, or `<` (XML 1.0, appendix F). If
      # two match, the longer one counts.
      SIGNATURES = {
        "\x00\x00\xFE\xFF" => Encoding::UTF_32BE, "\xFF\xFE\x00\x00" => Encoding::UTF_32LE,
        "\x00\x00\x00<" => Encoding::UTF_32BE, "<\x00\x00\x00" => Encoding::UTF_32LE,
        "\xFE\xFF" => Encoding::UTF_16BE, "\xFF\xFE" => Encoding::UTF_16LE,
        "\x00<" => Encoding::UTF_16BE, "<\x00" => Encoding::UTF_16LE
      }.transform_keys { |bytes| bytes.b.freeze }.freeze
      private_constant :SIGNATURES

      module_function

      # @param document [String]
      # @return [Encoding, nil] the document's encoding; nil if its XML declaration has to say it
      def encoding_of(document)
        return document.encoding unless document.encoding.ascii_compatible?

        start = document.byteslice(0, 4).b
        SIGNATURES.each { |signature, encoding| return encoding if start.start_with?(signature) }
        nil
      end

      # @param document [String]
      # @param encoding [Encoding] of its bytes
      # @return [String] in UTF-8, without a byte order mark
      # @raise [ParseError] for bytes that are invalid in the encoding
      def utf8(document, encoding)
        converted = +""
        converter = Encoding::Converter.new(encoding, Encoding::UTF_8)
        result = converter.primitive_convert(document.b, converted)
        converted.delete_prefix!("\uFEFF")
        return converted if result == :finished

        raise ParseError.at("the text is not in #{encoding.name}", *position(converted, converted.bytesize))
      end

      # @param text [String] in UTF-8, or in another superset of ASCII
      # @param offset [Integer] in bytes
      # @return [Array(Integer, Integer)] line and column, from 1
      def position(text, offset)
        before = text.byteslice(0, offset).force_encoding(Encoding::UTF_8).scrub
        [before.count("\n") + 1, before.size - (before.rindex("\n") || -1)]
      end
    end
  end
end
