# frozen_string_literal: true

module Trunkline
  module XML
    module Rails
      # Where a template writes when its layout is streamed: fragments are gathered into chunks, since each write would
      # be one on the wire.
      class Streaming
        # @return [Object] the target for a builder: the raw output buffer, but for streams
        def self.target(output_buffer)
          output_buffer.is_a?(ActionView::StreamingBuffer) ? new(output_buffer) : output_buffer.raw
        end

        # Sends the rest of what was written to the target.
        def self.finish(target)
          target.flush if target.is_a?(Streaming)
        end

        # @param output_buffer [ActionView::StreamingBuffer]
        def initialize(output_buffer)
          @output_buffer = output_buffer
          @block = output_buffer.block
          @pending = +""
        end

        # While something is captured it goes to the capture at once: nobody tells when that ends.
        def <<(fragment)
          return self if fragment.nil?

          if @output_buffer.block.equal?(@block)
            @pending << fragment.to_s
            flush if @pending.bytesize >= Chunks::SIZE
          else
            @output_buffer.block.call(fragment.to_s)
          end
          self
        end

        # Sends what was gathered, to the client whatever is being captured.
        def flush
          return if @pending.empty?

          chunk = @pending
          @pending = +""
          @block.call(chunk)
        end
      end
    end
  end
end
