# frozen_string_literal: true

module Trunkline
  # Stores bytes in JSON. A field value may contain any bytes beyond ASCII (RFC 9110 5.5), but JSON holds only text, so
  # each byte becomes the character with that code point.
  #
  # @api private
  module BytesAsText
    LATIN = Encoding::ISO_8859_1
    private_constant :LATIN

    module_function

    # @param bytes [String]
    # @return [String] in UTF-8
    def text(bytes) = bytes.dup.force_encoding(LATIN).encode(Encoding::UTF_8)

    # @param text [String] made by #text
    # @return [String] the bytes
    # @raise [EncodingError] when text has a character above U+00FF
    def bytes(text) = text.encode(LATIN).b
  end
end
