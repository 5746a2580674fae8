# frozen_string_literal: true

module Trunkline
  module Policy
    class Cache
      # Extends a streamed Response, so that it is kept once its reader has come to its end. What is left early, breaks
      # off, or is larger than the cache keeps, is not.
      module KeptStream
        # @param most [Integer] bytes of the body that are kept
        # @yield [body] once: all of it, decoded
        # @return [self]
        def keep_when_read(most, &block)
          @most = most
          @copy = "".b
          @keep = block
          self
        end

        # What is left of the body: all of it when no part of it was read before.
        def body
          from_the_beginning = @copy&.empty?
          whole = super
          if from_the_beginning && @copy&.empty?
            copy(whole)
            at_end
          end
          @copy = nil
          whole
        end

        private

        def _read(buffer = nil)
          chunk = super
          chunk ? copy(chunk) : at_end
          chunk
        end

        def copy(chunk)
          @copy &&= @copy.bytesize + chunk.bytesize > @most ? nil : @copy << chunk.b
        end

        def at_end
          body = @copy
          @copy = nil
          @keep.call(body) if body && complete? && !length_unknown? && all?(body)
        end

        # Whoever takes bytes past #_read, as a download does, has not left them all here.
        def all?(body)
          length = self["content-length"]
          length.nil? || self["content-encoding"] || length.to_i == body.bytesize
        end
      end
    end
  end
end
