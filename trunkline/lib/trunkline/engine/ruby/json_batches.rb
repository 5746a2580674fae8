# frozen_string_literal: true

require_relative "json_scanner"
require_relative "../../redacted"

module Trunkline
  module Engine
    # The wanted values of a stream of JSON, handed over in batches: as one String, an array of JSON, so that one
    # JSON.parse reads them all.
    class JSONBatches
      include Redacted

      # The most values of a batch, and bytes that are scanned at once.
      MOST = 512
      FEED_BYTES = 256 * 1024
      FORMS = %i[document lines sequence detected].freeze
      private_constant :MOST, :FEED_BYTES, :FORMS

      # @param form [:document, :lines, :sequence, :detected]
      # @param path [Array<String, nil>] of :document: nil for every element and member
      # @param options [Hash] limit: bytes of the longest value or nil, max_nesting: 0 for any, and flags of JSON.parse;
      #   read: is for the engine in C, whose take then yields values
      def initialize(form, path, options)
        raise ArgumentError, "no form of JSON" unless FORMS.include?(form)

        path = path.map { |one| one && String(one) }
        @scanner = Ruby::JSONScanner.new(form, form == :document ? path : [], options)
        @taken = []
      end

      # @param from [Integer] where in the String to begin
      # @return [Integer] up to where it was added
      def feed(bytes, from)
        raise ArgumentError, "not within the String" if from > bytes.bytesize

        part = bytes.byteslice(from, FEED_BYTES)
        @scanner.feed(part)
        from + part.bytesize
      end

      # @return [self]
      def finish
        @scanner.finish
        self
      end

      # @return [String, nil] the values that come next; nil: the stream has ended, has failed, or more must be fed
      def take
        @taken = []
        while @taken.size < MOST && (value = @scanner.next_value)
          @taken << value
        end
        return if @taken.empty?

        "[#{@taken.map { |one| one.bytes.force_encoding(Encoding::UTF_8) }.join(",")}]"
      end

      # @return [Integer] how many values the last batch has
      def size = @taken.size

      # @return [Array] [from, length, byte, line, positions] of a value of the last batch: where it is in the String,
      #   and where it was in the stream
      def value(number)
        raise IndexError, "no such value" unless number.between?(0, @taken.size - 1)

        one = @taken[number]
        from = 1 + @taken.first(number).sum { |other| other.bytes.bytesize + 1 }
        [from, one.bytes.bytesize, one.byte, one.line, one.positions]
      end

      # @return [Array, nil] [kind, words, byte, line, positions]
      def failure = @scanner.failure
    end
  end
end
