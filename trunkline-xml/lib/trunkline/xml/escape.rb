# frozen_string_literal: true

module Trunkline
  module XML
    # Converts a text before it is written: to valid UTF-8, with only characters that XML 1.0 allows, and escaped
    # markup. The extension replaces {Escape.text} with an equivalent function in C.
    module Escape
      # Windows-1252 has printable characters where ISO-8859-1 and Unicode have controls. These controls are replaced,
      # because the text was probably read as ISO-8859-1; the five that Windows-1252 does not define are kept.
      WINDOWS_1252 = "\u0080\u0082-\u008c\u008e\u0091-\u009c\u009e\u009f"
      # The characters of Windows-1252 for these code points, in the same order.
      REPAIRED = "\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d" \
                 "\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
      CONTROLS = /[\u0080-\u009f]/
      # Characters outside the Char production of XML 1.0 (section 2.2).
      FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/
      REPLACEMENT = "\ufffd"
      ENTITIES = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;" }.freeze
      NEEDS_WORK = /[&<>\u0080-\u009f]|#{FORBIDDEN}/
      private_constant :WINDOWS_1252, :REPAIRED, :CONTROLS, :FORBIDDEN, :REPLACEMENT, :ENTITIES, :NEEDS_WORK

      module_function

      # @param string [String] in any encoding; bytes that are invalid in it are read as Windows-1252
      # @return [String] escaped, in UTF-8
      # @raise [EncodingError] when bytes of another encoding have no equivalent in Unicode
      def text(string)
        utf8 = unicode(string)
        return utf8.encode(Encoding::UTF_8) unless utf8.match?(NEEDS_WORK)

        utf8 = utf8.tr(WINDOWS_1252, REPAIRED) if utf8.match?(CONTROLS)
        utf8.gsub(FORBIDDEN, REPLACEMENT).gsub(/[&<>]/, ENTITIES).encode(Encoding::UTF_8)
      end

      # @param string [String]
      # @return [String] the contents of a CDATA section; a `]]>` is split between two sections
      def cdata(string)
        string.gsub("]]>", "]]]]><![CDATA[>")
      end

      # A string in BINARY, or in invalid UTF-8, is read as UTF-8 if that is valid, else as ISO-8859-1, which accepts
      # any byte.
      def unicode(string)
        case string.encoding
        when Encoding::UTF_8
          string.valid_encoding? ? string : from_latin1(string)
        when Encoding::BINARY
          return string if string.ascii_only?

          # A clone stays frozen: Builder raises for frozen BINARY strings, and so must this.
          utf8 = string.clone.force_encoding(Encoding::UTF_8)
          utf8.valid_encoding? ? utf8 : from_latin1(utf8)
        else
          string.encode(Encoding::UTF_8)
        end
      end

      def from_latin1(string)
        string.encode(Encoding::UTF_8, Encoding::ISO_8859_1)
      end
      private_class_method :unicode, :from_latin1
    end
  end
end
