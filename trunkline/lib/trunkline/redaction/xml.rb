# frozen_string_literal: true

require "strscan"
require_relative "../redacted"

module Trunkline
  class Redaction
    # Redacts XML tag by tag, so that the beginning of a large body can be redacted without the rest of it, and the
    # remaining text is not changed.
    #
    # @api private
    class XML
      include Redacted

      TEXT = /[^<]+/
      # Comments, CDATA sections and processing instructions, which may contain "<".
      SECTION = /<!--.*?(?:-->|\z)|<!\[CDATA\[.*?(?:\]\]>|\z)|<\?.*?(?:\?>|\z)/m
      TAG = %r{<(?<close>/?)(?<name>[\w:.-]+)(?:[^<>"']|"[^"]*(?:"|\z)|'[^']*(?:'|\z))*(?:>|\z)}m
      ATTRIBUTE = /(?<=\s)(?<name>[\w:.-]+)(?<equals>\s*=\s*)(?:"[^"]*(?:"|\z)|'[^']*(?:'|\z))/m
      private_constant :TEXT, :SECTION, :TAG, :ATTRIBUTE

      # @param redaction [Redaction]
      # @param text [String] valid in its encoding
      def initialize(redaction, text)
        @redaction = redaction
        @scanner = StringScanner.new(text)
      end

      # @return [String] the text; contents of elements and values of attributes that may be credentials are hidden
      def redacted
        redacted = +""
        until @scanner.eos?
          if @scanner.scan(TAG)
            name = @scanner[:name]
            redacted << attributes(@scanner.matched)
            hide(redacted, name) if opened? && hides?(name)
          else
            redacted << next_piece
          end
        end
        redacted
      end

      private

      # @return [Boolean] whether the tag that was just read begins an element that is not empty
      def opened? = @scanner[:close].empty? && !@scanner.matched.end_with?("/>")

      # Skips the contents of an element, appends HIDDEN if there are any, and appends the end tag.
      def hide(redacted, name)
        from = @scanner.pos
        depth = 1
        until @scanner.eos? || depth.zero?
          if @scanner.scan(TAG) then depth += depth_change if @scanner[:name] == name
          else next_piece
          end
        end
        ending = depth.zero? ? @scanner.matched : ""
        redacted << HIDDEN if @scanner.pos - ending.bytesize > from
        redacted << ending
      end

      # @return [Integer] how the tag that was just read changes the nesting depth
      def depth_change
        return -1 unless @scanner[:close].empty?

        opened? ? 1 : 0
      end

      # @return [String] the text up to the next tag, a comment or the like, or one character
      def next_piece = @scanner.scan(TEXT) || @scanner.scan(SECTION) || @scanner.getch

      def attributes(tag)
        tag.gsub(ATTRIBUTE) do |all|
          found = Regexp.last_match
          next all unless hides?(found[:name])

          quote = all[found[:name].size + found[:equals].size]
          "#{found[:name]}#{found[:equals]}#{quote}#{HIDDEN}#{quote if all.end_with?(quote)}"
        end
      end

      # @param name [String] with the prefix of its namespace, or without
      def hides?(name) = @redaction.hides?(name) || @redaction.hides?(name[/[^:]*\z/])
    end
  end
end
