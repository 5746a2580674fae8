# frozen_string_literal: true

require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # The lines of response heads that a connection has received most recently, with what they contain: a server sends
      # most of its lines again in the next response, and a look-up is much faster than parsing. Used by one exchange at
      # a time, as its connection is.
      class HeadLines
        include Redacted

        MOST = 64
        LONGEST = 256 # bytes
        # A field line, and its name and value.
        FieldLine = Struct.new(:text, :pair) { include Redacted }
        private_constant :MOST, :LONGEST, :FieldLine

        def initialize
          @lines = {} # by text
          @last_head = [] # the lines of the last head
        end

        # Compares the line with that at the same position of the last head first: usually they are equal, and a
        # comparison is faster than a look-up in a Hash.
        # @param position [Integer] of the line in its head
        # @param line [String] a field line without its CRLF
        # @return [Array(String, String), nil] its name and value, frozen
        def at(position, line)
          return @lines[line]&.pair if position > MOST

          last = @last_head[position]
          last = @last_head[position] = @lines[line] unless last && last.text == line
          last&.pair
        end

        # @param pair [Array(String, String)] the line's name and value
        # @return [Array(String, String)] an equal pair
        def keep(line, pair)
          return pair if line.bytesize > LONGEST

          @lines.shift if @lines.size == MOST
          kept = FieldLine.new(copy(line), pair.map { |text| copy(text) }.freeze)
          @lines[kept.text] = kept
          kept.pair
        end

        # @param line [String] a status line without its CRLF
        # @return [Array(Integer, Integer, String), nil] minor version, status and reason; nil: it is not the last one
        def status(line) = (@status if line == @status_line)

        # @return [Array(Integer, Integer, String)] see #status
        def keep_status(line, minor, status, reason)
          parts = [minor, status, reason && copy(reason)].freeze
          return parts if line.bytesize > LONGEST

          @status_line = copy(line)
          @status = parts
        end

        private

        # A part of a String may share the memory of the whole, which is the head of up to 64 KiB.
        def copy(text) = (text + "").freeze
      end
    end
  end
end
