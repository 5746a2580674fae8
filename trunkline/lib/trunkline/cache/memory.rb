# frozen_string_literal: true

require_relative "../errors"
require_relative "../lock"
require_relative "../redacted"

module Trunkline
  module Cache
    # Stores responses in the memory of this process, up to a number of bytes; the least recently used ones are evicted.
    # Any number of clients and threads can use a store; a forked child continues with a copy.
    #
    #   store = Trunkline::Cache::Memory.new(max_bytes: 64 * 1024 * 1024)
    #   Trunkline.new(url, timeout: 5, cache: store)
    class Memory
      include Redacted

      # Bytes that an entry needs in addition to its key and its value.
      OVERHEAD = 256

      # Default of max_bytes:.
      MAX_BYTES = 32 * 1024 * 1024

      Entry = Struct.new(:value, :bytes) { include Redacted }
      private_constant :Entry

      # @return [Integer]
      attr_reader :max_bytes
      # @return [Integer] bytes in use
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
      # @return [Object, nil] the value that was written
      def read(key)
        @lock.synchronize do
          entry = @entries.delete(key) or return
          (@entries[key] = entry).value # now the last entry, which is evicted last
        end
      end

      # @param key [String]
      # @param value [#bytesize] not stored if it is larger than max_bytes
      # @return [Boolean] whether the value is stored
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
      # @return [Boolean] whether there was such an entry
      def delete(key) = @lock.synchronize { !remove(key).nil? }

      # @return [nil]
      def clear
        @lock.synchronize do
          @entries.clear
          @bytes = 0
        end
        nil
      end

      # @return [Integer] number of entries
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
