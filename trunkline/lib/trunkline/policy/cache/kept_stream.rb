# frozen_string_literal: true

module Trunkline
  module Policy
    class Cache
      # Extends a streamed Response, so that the cache stores the response once the caller has read it to the end. A
      # body that is left early, is incomplete, or exceeds the cache's limit is not stored.
      module KeptStream
        # @param most [Integer] maximum size in bytes of a body to store
        # @yield [body] once: the whole body, decoded
        # @return [self]
        def keep_when_read(most, &block)
          @most = most
          @copy = "".b
          @keep = block
          self
        end

        # The rest of the body: the whole body when nothing was read before.
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

        # The copy is incomplete if some bytes were read without #_read, as a download does.
        def all?(body)
          length = self["content-length"]
          length.nil? || self["content-encoding"] || length.to_i == body.bytesize
        end
      end
    end
  end
end
