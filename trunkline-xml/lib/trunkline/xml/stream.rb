# frozen_string_literal: true

require "trunkline/xml"

module Trunkline
  module XML # :nodoc:
    # A target that hands on what is written in pieces of some size, instead of keeping it.
    class Chunks
      # Bytes from which a chunk is handed on; the extension knows the number too.
      SIZE = 16 * 1024

      # @yieldparam chunk [String] not used again afterwards
      def initialize(&receive)
        @receive = receive
        @buffer = +""
      end

      # @param fragment [String]
      # @return [Chunks] itself
      def <<(fragment)
        @buffer << fragment
        flush if @buffer.bytesize >= SIZE
        self
      end

      # Hands on what is there.
      def flush
        return if @buffer.empty?

        chunk = @buffer
        @buffer = String.new(capacity: SIZE * 2, encoding: Encoding::UTF_8)
        @receive.call(chunk)
      end
    end

    Builder::Native.chunks_class = Chunks if Builder.const_defined?(:Native, false)

    # A Rack body that writes its document while it is being sent: memory stays at a chunk, however long it gets.
    #
    #   [200, {"content-type" => "application/xml"}, Trunkline::XML::Stream.new { |xml| xml.feed { ... } }]
    #
    # In a Rails controller: `self.response_body = Trunkline::XML::Stream.new(indent: 2) { |xml| ... }`.
    class Stream
      # @param options [Hash] of {Builder}, without a target
      # @yieldparam xml [Builder]
      # @raise [ArgumentError] without a block, or with a target
      def initialize(**options, &document)
        raise ArgumentError, "Stream.new needs a block that writes the document" unless document
        raise ArgumentError, "a Stream has its own target, not #{options[:target].inspect}" if options.key?(:target)

        @options = options
        @document = document
      end

      # @yieldparam chunk [String] of about {Chunks::SIZE} bytes
      # @return [Enumerator] without a block
      def each(&receive)
        return enum_for(:each) unless receive

        target = Chunks.new(&receive)
        @document.call(Builder.new(**@options, target: target))
        target.flush
      end
    end
  end
end
