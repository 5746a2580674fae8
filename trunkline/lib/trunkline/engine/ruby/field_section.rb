# frozen_string_literal: true

require "strscan"
require_relative "failures"
require_relative "limits"
require_relative "../../ows"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # Parses the fields of a head or of trailers (RFC 9112 5) incrementally: each call continues where the last one
      # stopped. Line folds and bare line feeds are tolerated; then the connection is not reused.
      class FieldSection
        include Redacted

        TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]*/n
        TEXT = /[\t\x20-\x7e\x80-\xff]*/n
        BLANKS = /[ \t]*/n
        # Lenient like Net::HTTP: any bytes up to the delimiter.
        LENIENT_NAME = /[^:\r\n]*/n
        LENIENT_VALUE = /[^\r\n]*/n
        BLANK_OR_LINE_END = /[ \t\r\n]+/n
        LINE_END = /[\r\n]/n
        private_constant :TOKEN, :TEXT, :BLANKS, :LENIENT_NAME, :LENIENT_VALUE, :BLANK_OR_LINE_END,
                         :LINE_END

        # @return [Integer] offset of the first byte after the section, once it is complete
        attr_reader :scan
        attr_reader :tolerated, :position

        # @param from [Integer] offset of the section
        # @param limits [HeadLimits]
        def initialize(from, limits)
          @scan = from
          @limits = limits
          @position = :field
          @list = []
          @tolerated = @folded = false
        end

        # @param bytes [String] all bytes from the beginning of the head or of the trailers
        # @return [Boolean] whether the section is complete
        # @raise [Failure]
        def parse(bytes)
          @scanner = StringScanner.new(bytes)
          @scanner.pos = @scan
          send(@position) until @position == :complete || @scanner.eos?
          @scan = @scanner.pos
          @position == :complete
        end

        # @return [Array<Array(String, String)>] frozen
        def fields(bytes)
          @list.map { |name, from, to| [FieldSection.text(name), text_of(bytes, from, to)].freeze }.freeze
        end

        # Returns the bytes that complete a section in which the connection ended, since Net::HTTP accepts it; nil if
        # none do.
        # @return [String, nil]
        def missing_end
          case @position
          when :field then "\r\n"
          when :value_end then "\n\r\n"
          when :last_end then "\n"
          when :name then nil
          else "\r\n\r\n"
          end
        end

        # US-ASCII if all bytes are; else BINARY.
        def self.text(bytes)
          bytes.ascii_only? ? bytes.force_encoding(Encoding::US_ASCII).freeze : bytes.freeze
        end

        private

        def text_of(bytes, from, to)
          text = bytes.byteslice(from, to - from)
          FieldSection.text(@folded ? OWS.strip(without_folds(text)) : text)
        end

        # One pattern for blanks around a line end would take quadratic time.
        def without_folds(text)
          text.gsub(BLANK_OR_LINE_END) { |run| LINE_END.match?(run) ? " " : run }
        end

        def field
          case byte = @scanner.string.getbyte(@scanner.pos)
          when 13, 10 then line_end(byte, :last_end)
          when 32, 9 then blank_line
          else
            raise Failure, :TOO_MANY_FIELDS if @list.size >= @limits.fields

            @from = @scanner.pos
            @position = :name
          end
        end

        # A line that begins with a blank continues the value of the previous field. Before the first field it is
        # malformed.
        def blank_line
          if !@list.empty?
            @name, @from, = @list.pop
            @folded = @tolerated = true
            @position = :value
          elsif @limits.lenient
            @tolerated = true
            @scanner.pos += 1
          else
            raise Failure, :FIELD_NAME
          end
        end

        def name
          @scanner.skip(TOKEN)
          @tolerated = true if @limits.lenient && @scanner.skip(LENIENT_NAME).positive?
          return if @scanner.eos?

          @name = @scanner.string.byteslice(@from, @scanner.pos - @from)
          @name = OWS.rstrip(@name) if @limits.lenient
          raise Failure, :FIELD_NAME if @name.empty? || @scanner.string.getbyte(@scanner.pos) != 58

          @scanner.pos += 1
          @position = :blank
        end

        def blank
          @scanner.skip(BLANKS)
          return if @scanner.eos?

          @from = @scanner.pos
          @position = :value
        end

        def value_text
          @scanner.skip(TEXT)
          @tolerated = true if @limits.lenient && @scanner.skip(LENIENT_VALUE).positive?
        end

        def value
          value_text
          return if @scanner.eos?

          byte = @scanner.string.getbyte(@scanner.pos)
          raise Failure, :FIELD_VALUE unless [13, 10].include?(byte)

          @list << [@name, @from, trimmed(@scanner.pos)]
          line_end(byte, :value_end)
        end

        def trimmed(to)
          string = @scanner.string
          to -= 1 while to > @from && [32, 9].include?(string.getbyte(to - 1))
          to
        end

        # A bare LF is tolerated (RFC 9112 2.2).
        def line_end(byte, position)
          byte == 13 ? @scanner.pos += 1 : @tolerated = true
          @position = position
        end

        def value_end
          line_feed
          @position = :field
        end

        def last_end
          line_feed
          @position = :complete
        end

        def line_feed
          raise Failure, :LINE_END unless @scanner.string.getbyte(@scanner.pos) == 10

          @scanner.pos += 1
        end
      end
    end
  end
end
