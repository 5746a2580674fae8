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
      TERMINATED = /[^\\](?:\\\\)*"\z/
      private_constant :STRING, :OTHER, :DOCUMENT, :TERMINATED

      # @param redaction [Redaction]
      # @param text [String] valid in its encoding
      def initialize(redaction, text)
        @redaction = redaction
        @scanner = StringScanner.new(text)
      end

      # @return [String] the text; values of members that may be credentials are hidden, whatever their type
      def redacted
        redacted = +""
        name = nil
        until @scanner.eos?
          if (string = @scanner.scan(STRING))
            name = string
            redacted << document(string)
          else
            mark = @scanner.scan(OTHER) || @scanner.getch
            redacted << mark
            hide(redacted) if mark == ":" && name && @redaction.hides?(unquoted(name))
            name = nil unless mark.strip.empty?
          end
        end
        redacted
      end

      private

      # @param string [String] a JSON string, whose contents may be JSON
      # @return [String] the same string if its contents have nothing to hide
      def document(string)
        return string unless string.match?(DOCUMENT)

        terminated = string.match?(TERMINATED)
        text = parsed(terminated ? string : "#{string.chomp("\\")}\"") or return HIDDEN.inspect
        redacted = JSON.new(@redaction, text).redacted
        return string if redacted == text

        terminated ? ::JSON.generate(redacted) : ::JSON.generate(redacted).chop
      end

      # Skips a value, including nested values, and appends HIDDEN in its place.
      def hide(redacted)
        redacted << @scanner.scan(/\s*/) << HIDDEN.inspect
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
