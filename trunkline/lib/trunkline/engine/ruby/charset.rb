# frozen_string_literal: true

module Trunkline
  module Engine
    module Ruby
      # Finds the Encoding for a charset's name. Unknown names are not passed to Ruby, since names come from servers.
      module Charset
        # Names that servers send and Ruby does not know, from IANA's and the WHATWG's lists.
        ALIASES = {
          "UTF-8" => %w[utf8 utf_8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8 utf8mb4],
          "UTF-16" => %w[utf16],
          "UTF-16LE" => %w[utf16le],
          "UTF-16BE" => %w[utf16be],
          "UTF-32" => %w[utf32],
          "US-ASCII" => %w[us iso646-us iso-ir-6],
          "ISO-8859-1" => %w[latin1 latin-1 l1 iso_8859-1 iso_8859-1:1987 iso88591 iso-ir-100 cp819 ibm819],
          "ISO-8859-2" => %w[latin2 l2 iso_8859-2 iso88592],
          "ISO-8859-5" => %w[cyrillic iso_8859-5 iso88595],
          "ISO-8859-6" => %w[arabic iso_8859-6],
          "ISO-8859-7" => %w[greek iso_8859-7],
          "ISO-8859-8" => %w[hebrew iso_8859-8 iso-8859-8-i iso-8859-8-e],
          "ISO-8859-9" => %w[latin5 l5 iso_8859-9 iso88599],
          "ISO-8859-15" => %w[latin9 latin-9 l9 iso_8859-15 iso885915],
          "Windows-1250" => %w[x-cp1250],
          "Windows-1251" => %w[x-cp1251 win-1251],
          "Windows-1252" => %w[x-cp1252],
          "Windows-1253" => %w[x-cp1253],
          "Windows-1254" => %w[x-cp1254],
          "Windows-874" => %w[dos-874],
          "KOI8-R" => %w[koi koi8 koi8_r cskoi8r],
          "KOI8-U" => %w[koi8-ru],
          "Shift_JIS" => %w[shift-jis shiftjis csshiftjis],
          "Windows-31J" => %w[x-sjis ms_kanji ms932],
          "EUC-JP" => %w[x-euc-jp euc_jp],
          "CP949" => %w[ks_c_5601-1987 ksc5601 ksc_5601 korean windows-949 uhc],
          "GBK" => %w[chinese gb_2312 gb_2312-80 x-gbk],
          "Big5" => %w[cn-big5 x-x-big5],
          "macRoman" => %w[macintosh mac x-mac-roman],
          "macCyrillic" => %w[x-mac-cyrillic]
        }.freeze
        # Ruby's own names, which are no charsets.
        RUBY_NAMES = %w[locale external internal filesystem].freeze
        KNOWN = (Encoding.name_list - RUBY_NAMES).to_h { |name| [name.downcase, name] }
        ALIASES.each { |encoding, names| names.each { |name| KNOWN[name] = encoding } }
        private_constant :ALIASES, :RUBY_NAMES, :KNOWN

        module_function

        # @param name [String]
        # @return [Encoding, nil] it may have to be loaded; one that cannot be loaded is not tried again
        def find(name)
          name = name.downcase if name.ascii_only?
          known = KNOWN[name] and Encoding.find(known)
        rescue ArgumentError
          KNOWN.delete(name)
          nil
        end

        # @param chunk [String] in the encoding
        # @return [Integer] how many of its bytes form whole characters; invalid bytes count as complete
        def complete_length(chunk)
          return chunk.bytesize if chunk.valid_encoding?

          chunk.bytesize - incomplete(chunk)
        end

        def incomplete(chunk)
          converter = Encoding::Converter.new(chunk.encoding, chunk.encoding == Encoding::UTF_8 ? "UTF-16BE" : "UTF-8")
          rest = chunk.dup
          loop do
            case converter.primitive_convert(rest, String.new)
            when :incomplete_input then return converter.primitive_errinfo[3].bytesize
            when :finished then return 0
            end
          end
        rescue Encoding::ConverterNotFoundError
          0
        end
        private_class_method :incomplete
      end
    end
  end
end
