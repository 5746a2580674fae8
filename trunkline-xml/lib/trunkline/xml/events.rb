# frozen_string_literal: true

require_relative "markup"

module Trunkline
  module XML
    # Calls methods of the target instead of writing: `start_tag(name, attributes)`, `end_tag(name)` and `text(string)`,
    # with unescaped text; attributes are nil if none were given. Indentation is passed as text, too.
    class Events < Builder
      # @param text [String]
      def text!(text)
        @target.text(text)
      end

      # Public, as in Builder::XmlEvents.
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
