# frozen_string_literal: true

module Trunkline
  module XML
    module Rails
      # The target of a template whose layout is streamed. It collects fragments into chunks, because each write to the
      # output buffer is sent to the client separately.
      class Streaming
        # @return [Object] the target for a builder: a Streaming for a streamed layout, else the raw output buffer
        def self.target(output_buffer)
          output_buffer.is_a?(ActionView::StreamingBuffer) ? new(output_buffer) : output_buffer.raw
        end

        # Sends the remaining fragments of the target.
        def self.finish(target)
          target.flush if target.is_a?(Streaming)
        end

        # @param output_buffer [ActionView::StreamingBuffer]
        def initialize(output_buffer)
          @output_buffer = output_buffer
          @block = output_buffer.block
          @pending = +""
        end

        # During a capture, a fragment is passed to the capture at once, because the end of the capture is not reported.
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

        # Sends the collected fragments to the client, even during a capture.
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
