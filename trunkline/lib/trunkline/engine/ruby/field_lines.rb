# frozen_string_literal: true

require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # The field lines that a connection has received most recently, with their names and values: a server sends most
      # of its lines again in the next response, and a look-up is much faster than parsing. Used by one exchange at a
      # time, as its connection is.
      class FieldLines
        include Redacted

        MOST = 64
        LONGEST = 256 # bytes
        private_constant :MOST, :LONGEST

        def initialize
          @pairs = {}
        end

        # @param line [String] without its CRLF
        # @return [Array(String, String), nil] frozen
        def [](line) = @pairs[line]

        # @param pair [Array(String, String)] the line's name and value
        # @return [Array(String, String)] an equal pair
        def keep(line, pair)
          return pair if line.bytesize > LONGEST

          @pairs.shift if @pairs.size == MOST
          @pairs[copy(line)] = pair.map { |text| copy(text) }.freeze
        end

        private

        # A part of a String may share the memory of the whole, which is the head of up to 64 KiB.
        def copy(text) = (text + "").freeze
      end
    end
  end
end
