# frozen_string_literal: true

require "strscan"
require_relative "../redacted"

module Trunkline
  class Redaction
    # XML, tag by tag: so the beginning of a large body can be redacted without the rest of it, and nothing else of the
    # text is changed.
    #
    # @api private
    class XML
      include Redacted

      TEXT = /[^<]+/
      # What may hold "<" without being a tag.
      WHOLE = /<!--.*?(?:-->|\z)|<!\[CDATA\[.*?(?:\]\]>|\z)|<\?.*?(?:\?>|\z)/m
      TAG = %r{<(?<close>/?)(?<name>[\w:.-]+)(?:[^<>"']|"[^"]*(?:"|\z)|'[^']*(?:'|\z))*(?:>|\z)}m
      ATTRIBUTE = /(?<=\s)(?<name>[\w:.-]+)(?<equals>\s*=\s*)(?:"[^"]*(?:"|\z)|'[^']*(?:'|\z))/m
      private_constant :TEXT, :WHOLE, :TAG, :ATTRIBUTE

      # @param redaction [Redaction]
      # @param text [String] valid in its encoding
      def initialize(redaction, text)
        @redaction = redaction
        @scanner = StringScanner.new(text)
      end

      # @return [String] without what is in elements that may be credentials, and without values of such attributes
      def shown
        shown = +""
        until @scanner.eos?
          if @scanner.scan(TAG)
            name = @scanner[:name]
            shown << attributes(@scanner.matched)
            hide(shown, name) if opened? && hides?(name)
          else
            shown << pass
          end
        end
        shown
      end

      private

      # @return [Boolean] whether the tag that was just read begins an element which something is in
      def opened? = @scanner[:close].empty? && !@scanner.matched.end_with?("/>")

      # Passes over what an element holds, and shows its end.
      def hide(shown, name)
        from = @scanner.pos
        depth = 1
        until @scanner.eos? || depth.zero?
          if @scanner.scan(TAG) then depth += step if @scanner[:name] == name
          else pass
          end
        end
        ending = depth.zero? ? @scanner.matched : ""
        shown << HIDDEN if @scanner.pos - ending.bytesize > from
        shown << ending
      end

      # @return [Integer] what the tag that was just read adds to the depth of elements
      def step
        return -1 unless @scanner[:close].empty?

        opened? ? 1 : 0
      end

      # @return [String] text before the next tag
      def pass = @scanner.scan(TEXT) || @scanner.scan(WHOLE) || @scanner.getch

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
