# frozen_string_literal: true

require_relative "../errors"
require_relative "../lock"
require_relative "../redacted"

module Trunkline
  module Cache
    # Keeps answers in the memory of this process, up to a number of bytes: those that were used longest ago go first.
    # For any number of clients and threads; a forked child goes on with a copy.
    #
    #   store = Trunkline::Cache::Memory.new(max_bytes: 64 * 1024 * 1024)
    #   Trunkline.new(url, timeout: 5, cache: store)
    class Memory
      include Redacted

      # Bytes that an entry needs besides its key and its value.
      OVERHEAD = 256

      # Without max_bytes:.
      MAX_BYTES = 32 * 1024 * 1024

      Entry = Struct.new(:value, :bytes) { include Redacted }
      private_constant :Entry

      # @return [Integer]
      attr_reader :max_bytes
      # @return [Integer] that are in use
      attr_reader :bytes

      # @param max_bytes [Integer] at least 1024
      # @raise [InvalidRequest]
      def initialize(max_bytes: MAX_BYTES)
        unless max_bytes.is_a?(Integer) && max_bytes >= 1024
          raise InvalidRequest.of("max_bytes", max_bytes, "an Integer of at least 1024")
        end

        @max_bytes = max_bytes
        @bytes = 0
        @entries = {}
        @lock = Lock.new
      end

      # @param key [String]
      # @return [Object, nil] what was written
      def read(key)
        @lock.synchronize do
          entry = @entries.delete(key) or return
          (@entries[key] = entry).value # the last, which goes last
        end
      end

      # @param key [String]
      # @param value [#bytesize] one that is larger than max_bytes is not kept
      # @return [Boolean] whether it is kept
      def write(key, value, **)
        bytes = key.bytesize + value.bytesize + OVERHEAD
        @lock.synchronize do
          remove(key)
          next false if bytes > @max_bytes

          remove(@entries.first.first) while @bytes + bytes > @max_bytes
          @entries[key] = Entry.new(value, bytes)
          @bytes += bytes
          true
        end
      end

      # @param key [String]
      # @return [Boolean] whether there was one
      def delete(key) = @lock.synchronize { !remove(key).nil? }

      # @return [nil]
      def clear
        @lock.synchronize do
          @entries.clear
          @bytes = 0
        end
        nil
      end

      # @return [Integer] of entries
      def size = @lock.synchronize { @entries.size }

      # @return [String]
      def inspect
        "#<#{self.class} #{size} entries, #{bytes} of #{max_bytes} bytes>"
      end

      private

      def remove(key)
        entry = @entries.delete(key) or return
        @bytes -= entry.bytes
      end
    end
  end
end
