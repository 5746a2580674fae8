# frozen_string_literal: true

require_relative "cancelled"
require_relative "error_message"
require_relative "positioned_writing"

module Trunkline
  # Extends a Response whose body is complete, so that it can be read piece by piece like a streamed response.
  module Replay
    PIECE_BYTES = 16 * 1024

    # @param error [Exception, nil] raised after the last piece
    def replay(error = nil)
      text = body
      @collected = (+"").force_encoding(text.encoding)
      @error = error
      @rest = text.b
      @at = 0
      self
    end

    def body
      return super unless @rest

      while (piece = next_bytes)
        @collected << piece.force_encoding(@collected.encoding)
      end
      @collected
    end

    def close
      return if @at >= @rest.bytesize

      @error ||= Cancelled.new("#{ErrorMessage.describe(request)} was given up before its answer was complete",
                               request: request, phase: :read, sent: :all)
      @rest = +""
    end

    # Does the same as the method of the C engine (ext/trunkline/ruby/body_saving.c).
    # @api private
    def _save(descriptor, offset, _seconds) # rubocop:disable Naming/PredicateMethod -- as that of C
      file = PositionedWriting.open(descriptor)
      while (piece = next_bytes)
        offset += PositionedWriting.write(file, piece, offset) { |count| @saved = _saved + count }
      end
      true
    end

    # @api private
    def _saved = @saved || 0

    private

    def _read(buffer = nil)
      if @at < @rest.bytesize
        piece = @rest.byteslice(@at, PIECE_BYTES)
        @at += PIECE_BYTES
        return buffer ? buffer.replace(piece) : piece
      end
      raise @error if @error
    end
  end
end
