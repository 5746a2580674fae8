# frozen_string_literal: true

require_relative "markup"

module Trunkline
  module XML
    # Instead of writing, tells the target what would be written: `start_tag(name, attributes)`, `end_tag(name)` and
    # `text(string)`, unescaped; attributes are nil where none were given. Indentation is text too.
    class Events < Builder
      # @param text [String]
      def text!(text)
        @target.text(text)
      end

      # Public as in Builder::XmlEvents.
      def _start_tag(name, attributes, end_too = false)
        @target.start_tag(name, attributes)
        _end_tag(name) if end_too
      end

      def _end_tag(name)
        @target.end_tag(name)
      end
    end
  end
end
