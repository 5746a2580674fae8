# frozen_string_literal: true

require_relative "json_scanner"
require_relative "../../redacted"

module Trunkline
  module Engine
    # The wanted values of a JSON stream, returned in batches: one String with a JSON array, so that one JSON.parse
    # reads them all.
    class JSONBatches
      include Redacted

      # Maximum of values in a batch, and of bytes that are scanned at once.
      BATCH_VALUES = 512
      FEED_BYTES = 256 * 1024
      FORMS = %i[document lines sequence detected].freeze
      private_constant :BATCH_VALUES, :FEED_BYTES, :FORMS

      # @param form [:document, :lines, :sequence, :detected]
      # @param path [Array<String, nil>] for :document; nil stands for every element and member
      # @param options [Hash] limit: maximum bytes of a value or nil, max_nesting: 0 for no limit, and flags of
      #   JSON.parse; read: is only for the C engine, whose take then yields values
      def initialize(form, path, options)
        raise ArgumentError, "no form of JSON" unless FORMS.include?(form)

        path = path.map { |one| one && String(one) }
        @scanner = Ruby::JSONScanner.new(form, form == :document ? path : [], options)
        @taken = []
      end

      # @param from [Integer] offset in the String at which to begin
      # @return [Integer] the offset up to which bytes were added
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

      # @return [String, nil] the next values; nil: the stream has ended, has failed, or more must be fed
      def take
        @taken = []
        while @taken.size < BATCH_VALUES && (value = @scanner.next_value)
          @taken << value
        end
        return if @taken.empty?

        "[#{@taken.map { |one| one.bytes.force_encoding(Encoding::UTF_8) }.join(",")}]"
      end

      # @return [Integer] number of values in the last batch
      def size = @taken.size

      # @return [Array] [from, length, byte, line, positions] of a value of the last batch: its place in the String, and
      #   its place in the stream
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
