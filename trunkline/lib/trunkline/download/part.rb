# frozen_string_literal: true

module Trunkline
  class Download
    # A run of the file's bytes, and how many of them are there.
    #
    # @api private
    class Part
      # @return [Integer] its first byte
      attr_reader :from
      # @return [Integer, nil] the byte after its last; nil: the end of the file, which is not known
      attr_reader :to
      # @return [Integer]
      attr_accessor :done

      def initialize(from, to, done = 0)
        @from = from
        @to = to
        @done = done
      end

      # @return [Integer] the next byte
      def position = from + done

      # It becomes all of the file: the server sends no parts.
      def become_whole = @to = nil

      # The end of the file is where its bytes end.
      def end_here = @to = position

      # It has no bytes beyond the end of the file.
      def end_at(total)
        @to = [@to, total].compact.min
      end

      def complete? = to && position >= to

      # @return [Boolean] whether it is all of a file
      def whole? = from.zero? && to.nil?

      # @return [String, nil] what to ask for (RFC 9110 14.1.2)
      def range = whole? && done.zero? ? nil : "bytes=#{position}-#{to && (to - 1)}"

      def to_a = [from, to, done]
    end
  end
end
