# frozen_string_literal: true

module Trunkline
  module Policy
    class Cache
      # Extends a streamed Response, so that the cache stores the response once the caller has read it to the end. A
      # body that is left early, is incomplete, or exceeds the cache's limit is not stored.
      module StoringStream
        # @param max_bytes [Integer] maximum size in bytes of a body to store
        # @yield [body] once: the whole body, decoded
        # @return [self]
        def store_when_read(max_bytes, &block)
          @max_copy_bytes = max_bytes
          @copy = "".b
          @store_body = block
          self
        end

        # The rest of the body: the whole body when nothing was read before.
        def body
          from_the_beginning = @copy&.empty?
          rest = super
          if from_the_beginning && @copy&.empty?
            copy(rest)
            at_end
          end
          @copy = nil
          rest
        end

        private

        def _read(buffer = nil)
          chunk = super
          chunk ? copy(chunk) : at_end
          chunk
        end

        def copy(chunk)
          @copy &&= @copy.bytesize + chunk.bytesize > @max_copy_bytes ? nil : @copy << chunk.b
        end

        def at_end
          body = @copy
          @copy = nil
          @store_body.call(body) if body && complete? && !length_unknown? && complete_copy?(body)
        end

        # The copy is incomplete if some bytes were read without #_read, as a download does.
        def complete_copy?(body)
          length = self["content-length"]
          length.nil? || self["content-encoding"] || length.to_i == body.bytesize
        end
      end
    end
  end
end
