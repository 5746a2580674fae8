# frozen_string_literal: true

require_relative "../redacted"

module Trunkline
  class Redaction
    # Redacts a multipart body, whose end may be missing.
    #
    # @api private
    class Parts
      include Redacted

      BOUNDARY = /boundary="?([^";,]+)/i
      NAME = /^content-disposition:[^\r\n]*;\s*name\s*=\s*(?:"([^"\r\n]*)|([^\s;"]+))/i
      TYPE = /^content-type:\s*([^\r\n]*)/i
      private_constant :BOUNDARY, :NAME, :TYPE

      # @param redaction [Redaction]
      # @param text [String] valid in its encoding
      # @param type [String] the body's Content-Type
      def initialize(redaction, text, type)
        @redaction = redaction
        @text = text
        @boundary = type[BOUNDARY, 1] || text[/\A--([^\r\n]+)/, 1]
      end

      # @return [String] the text; values of parts that may be credentials are hidden, other parts are redacted by type
      def redacted
        return @text if @boundary.nil?

        @text.split(/(^--#{Regexp.escape(@boundary)}(?:--)?[ \t]*(?:\r?\n|\z))/).map { |part| redacted_part(part) }.join
      end

      private

      # @return [String] the redacted part, or a delimiter between two parts
      def redacted_part(part)
        head, mark, value = part.partition(/\r?\n\r?\n/)
        name = head[NAME, 1] || head[NAME, 2]
        "#{head}#{mark}#{name && @redaction.hides?(name) ? hidden(value) : @redaction.body(value, head[TYPE, 1])}"
      end

      def hidden(value)
        value.empty? ? value : "#{HIDDEN}#{value[/\r?\n\z/]}"
      end
    end
  end
end
