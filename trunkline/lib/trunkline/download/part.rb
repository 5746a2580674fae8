# frozen_string_literal: true

module Trunkline
  class Download
    # A range of the file's bytes, and how many of them have been downloaded.
    #
    # @api private
    class Part
      # @return [Integer] position of its first byte
      attr_reader :from
      # @return [Integer, nil] position after its last byte; nil for the unknown end of the file
      attr_reader :to
      # @return [Integer] number of downloaded bytes
      attr_accessor :done

      def initialize(from, to, done = 0)
        @from = from
        @to = to
        @done = done
      end

      # @return [Integer] position of the next byte to download
      def position = from + done

      # Extends the part to the whole file, when the server does not support ranges.
      def extend_to_end = @to = nil

      # Ends the part at the last downloaded byte, which is the end of the file.
      def end_here = @to = position

      # Shortens the part to the end of the file.
      def end_at(total)
        @to = [@to, total].compact.min
      end

      def complete? = to && position >= to

      # @return [Boolean] whether the part is the whole file
      def whole_file? = from.zero? && to.nil?

      # @return [String, nil] value of the Range field (RFC 9110 14.1.2); nil to request the whole file
      def range = whole_file? && done.zero? ? nil : "bytes=#{position}-#{to && (to - 1)}"

      def to_a = [from, to, done]
    end
  end
end
