# frozen_string_literal: true

module Trunkline
  # The value of a field may have any bytes beyond ASCII (RFC 9110 5.5), and JSON has text alone: in JSON, each byte is
  # the character of that number.
  #
  # @api private
  module BytesAsText
    LATIN = Encoding::ISO_8859_1
    private_constant :LATIN

    module_function

    # @param bytes [String]
    # @return [String] in UTF-8
    def text(bytes) = bytes.dup.force_encoding(LATIN).encode(Encoding::UTF_8)

    # @param text [String] what #text has made
    # @return [String] the bytes
    # @raise [EncodingError] for another text
    def bytes(text) = text.encode(LATIN).b
  end
end
