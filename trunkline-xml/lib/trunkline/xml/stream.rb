# frozen_string_literal: true

require "trunkline/xml"

module Trunkline
  module XML # :nodoc:
    # A target that passes its output on in chunks instead of keeping it.
    class Chunks
      # The minimum bytes of a chunk; the extension has the same number.
      SIZE = 16 * 1024

      # @yieldparam chunk [String] the block owns the String
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

      # Passes on the output that is buffered.
      def flush
        return if @buffer.empty?

        chunk = @buffer
        @buffer = String.new(capacity: SIZE * 2, encoding: Encoding::UTF_8)
        @receive.call(chunk)
      end
    end

    Builder::Native.chunks_class = Chunks if Builder.const_defined?(:Native, false)

    # A Rack body that writes its document while it is sent, so that memory holds only one chunk of it.
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
