# frozen_string_literal: true

require "json"
require "strscan"
require_relative "../redacted"

module Trunkline
  class Redaction
    # Redacts JSON token by token, so that the beginning of a large body can be redacted without the rest of it, and the
    # remaining text is not changed.
    #
    # @api private
    class JSON
      include Redacted

      STRING = /"(?:[^"\\]|\\.)*(?:"|\\?\z)/m
      OTHER = /[^"{}\[\],:]+/
      DOCUMENT = /\A"(?:\s|\\[nrt])*[{\[]/
      WHOLE = /[^\\](?:\\\\)*"\z/
      private_constant :STRING, :OTHER, :DOCUMENT, :WHOLE

      # @param redaction [Redaction]
      # @param text [String] valid in its encoding
      def initialize(redaction, text)
        @redaction = redaction
        @scanner = StringScanner.new(text)
      end

      # @return [String] the text; values of members that may be credentials are hidden, whatever their type
      def shown
        shown = +""
        name = nil
        until @scanner.eos?
          if (string = @scanner.scan(STRING))
            name = string
            shown << document(string)
          else
            mark = @scanner.scan(OTHER) || @scanner.getch
            shown << mark
            hide(shown) if mark == ":" && name && @redaction.hides?(unquoted(name))
            name = nil unless mark.strip.empty?
          end
        end
        shown
      end

      private

      # @param string [String] a JSON string, whose contents may be JSON
      # @return [String] the same string if its contents have nothing to hide
      def document(string)
        return string unless string.match?(DOCUMENT)

        whole = string.match?(WHOLE)
        text = parsed(whole ? string : "#{string.chomp("\\")}\"") or return HIDDEN.inspect
        shown = JSON.new(@redaction, text).shown
        return string if shown == text

        whole ? ::JSON.generate(shown) : ::JSON.generate(shown).chop
      end

      # Skips a value, including nested values, and appends HIDDEN in its place.
      def hide(shown)
        shown << @scanner.scan(/\s*/) << HIDDEN.inspect
        depth = 0
        until @scanner.eos? || (depth.zero? && @scanner.check(/[,}\]\n]/))
          next if @scanner.skip(STRING)

          case @scanner.getch
          when "{", "[" then depth += 1
          when "}", "]" then depth -= 1
          end
        end
      end

      def unquoted(string) = parsed(string) || string

      # @return [String, nil] nil when string is not a valid JSON string
      def parsed(string)
        ::JSON.parse("[#{string}]").first
      rescue ::JSON::ParserError
        nil
      end
    end
  end
end
