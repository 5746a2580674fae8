# frozen_string_literal: true

module Trunkline
  # The beginning of a body as text, to be shown.
  #
  # @api private
  module BodyText
    # @param body [String]
    # @param most [Integer] maximum bytes
    # @return [String, nil] in UTF-8; nil when the body is not text
    def self.of(body, most)
      head = body.byteslice(0, most)
      head = head.dup.force_encoding(Encoding::UTF_8) if head.encoding == Encoding::BINARY
      # The cut may leave up to 3 bytes of an incomplete character.
      3.times { head = head.byteslice(0...-1) unless head.valid_encoding? } if body.bytesize > most
      text = head.encode(Encoding::UTF_8)
      text if text.valid_encoding? && !text.include?("\0") # String#encode from UTF-8 to UTF-8 validates nothing
    rescue EncodingError
      nil
    end
  end
end
