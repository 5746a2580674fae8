# frozen_string_literal: true

module Trunkline
  # The beginning of a body, to be shown.
  #
  # @api private
  module BodyText
    # @param body [String]
    # @param most [Integer] bytes
    # @return [String, nil] in UTF-8; nil when it is no text
    def self.of(body, most)
      head = body.byteslice(0, most)
      head = head.dup.force_encoding(Encoding::UTF_8) if head.encoding == Encoding::BINARY
      # The last character may be cut: 3 bytes at the most are left of it.
      3.times { head = head.byteslice(0...-1) unless head.valid_encoding? } if body.bytesize > most
      text = head.encode(Encoding::UTF_8)
      text if text.valid_encoding? && !text.include?("\0") # to encode UTF-8 as UTF-8 checks nothing
    rescue EncodingError
      nil
    end
  end
end
