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
        private_constant :MOST, :LONGEST

        def initialize
          @pairs = {}
        end

        # @param line [String] a field line without its CRLF
        # @return [Array(String, String), nil] its name and value, frozen
        def [](line) = @pairs[line]

        # @param pair [Array(String, String)] the line's name and value
        # @return [Array(String, String)] an equal pair
        def keep(line, pair)
          return pair if line.bytesize > LONGEST

          @pairs.shift if @pairs.size == MOST
          @pairs[copy(line)] = pair.map { |text| copy(text) }.freeze
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
