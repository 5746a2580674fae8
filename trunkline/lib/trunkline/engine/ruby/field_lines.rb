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
        # @return [Array(String, String)] the pair, frozen
        def keep(line, pair)
          pair.each(&:freeze).freeze
          return pair if line.bytesize > LONGEST

          @pairs.shift if @pairs.size == MOST
          @pairs[line.freeze] = pair
        end
      end
    end
  end
end
