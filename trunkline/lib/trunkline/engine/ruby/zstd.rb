# frozen_string_literal: true

require_relative "failures"
require_relative "../../redacted"

module Trunkline
  module Engine
    module Ruby
      # zstd (RFC 8878), decoded by the gem zstd-ruby. Frames and blocks are parsed here, because the gem does not
      # report where a frame ends: it is passed one block at a time, which decodes to at most 128 KiB.
      class Zstd
        include Redacted

        MAGIC = [0xFD2FB528].pack("V").freeze
        # The magic numbers of skippable frames differ in four bits.
        SKIPPED = /\A[\x50-\x5f](?:\x2a(?:\x4d(?:\x18|\z)|\z)|\z)/n
        # The largest window that a server may require (RFC 9659).
        WINDOW_BYTES = 1 << 23
        # The largest block (RFC 8878 3.1.1.2.4), unless the window is smaller.
        BLOCK_BYTES = 128 * 1024
        ID_BYTES = [0, 1, 2, 4].freeze
        private_constant :MAGIC, :SKIPPED, :WINDOW_BYTES, :BLOCK_BYTES, :ID_BYTES

        # @return [Boolean] whether the gem is installed
        def self.available?
          require "zstd-ruby"
          defined?(::Zstd::StreamingDecompress) ? true : false
        rescue LoadError
          false
        end

        def initialize
          @input = String.new
          @position = :magic
          @any_frame = false
        end

        # @return [Boolean] whether the data may end here
        def at_end? = @position == :magic && @input.empty? && @any_frame

        # @yieldparam piece [String]
        def step(input, &block)
          @input << input
          nil while send(@position, &block)
        rescue RuntimeError => error
          raise if error.is_a?(Failure)

          raise Failure, :CODING_DATA
        end

        private

        # @return [String, nil] the next count bytes; nil: they have not all arrived
        def take(count)
          return if @input.bytesize < count

          taken = @input.byteslice(0, count)
          @input = @input.byteslice(count..)
          taken
        end

        def continue_with(position) = @position = position

        # ---- positions: each returns whether to continue ----

        def magic
          return if @input.empty?

          seen = @input.byteslice(0, MAGIC.bytesize)
          frame = MAGIC.start_with?(seen)
          raise Failure, @any_frame ? :CODING_TRAILING : :CODING_DATA unless frame || SKIPPED.match?(seen)
          return if seen.bytesize < MAGIC.bytesize

          continue_with(frame ? :descriptor : :skipped_head)
        end

        # RFC 8878 3.1.1.1.1.
        def descriptor
          return if @input.bytesize < 5

          flags = @input.getbyte(4)
          @single = flags.anybits?(0x20)
          @has_checksum = flags.anybits?(0x04)
          @id_bytes = ID_BYTES[flags & 3]
          @size_bytes = [@single ? 1 : 0, 2, 4, 8][flags >> 6]
          @header_bytes = 5 + (@single ? 0 : 1) + @id_bytes + @size_bytes
          continue_with(:header)
        end

        def header
          bytes = take(@header_bytes) or return
          @size = content_size(bytes.byteslice(-@size_bytes, @size_bytes)) if @size_bytes.positive?
          @size = nil if @size_bytes.zero?
          window = window(bytes)
          raise Failure, :CODING_DATA if window > WINDOW_BYTES

          @block_limit = [window, BLOCK_BYTES].min
          @output = 0
          @decoder = ::Zstd::StreamingDecompress.new
          @decoder.decompress(bytes)
          continue_with(:block)
        end

        def content_size(bytes)
          case bytes.bytesize
          when 2 then bytes.unpack1("v") + 256
          when 4 then bytes.unpack1("V")
          else bytes.bytesize == 8 ? bytes.unpack1("Q<") : bytes.getbyte(0)
          end
        end

        # RFC 8878 3.1.1.1.2.
        def window(bytes)
          return @size if @single

          byte = bytes.getbyte(5)
          base = 1 << (10 + (byte >> 3))
          base + (base / 8 * (byte & 7))
        end

        # RFC 8878 3.1.1.2.
        def block(&piece)
          return if @input.bytesize < 3

          head = @input.byteslice(0, 3).unpack("CCC").each_with_index.sum { |byte, at| byte << (8 * at) }
          size = head >> 3
          bytes = take(3 + stored_bytes(head[1, 2], size)) or return
          raise Failure, :CODING_DATA if size > @block_limit

          unpack(bytes, &piece)
          return true if head[0].zero?

          @has_checksum ? continue_with(:checksum) : end_frame
        end

        # A block of type 1 is one byte, which is repeated.
        # @return [Integer] number of bytes of the block without its head
        def stored_bytes(type, size)
          stored = type == 1 ? 1 : size
          raise Failure, :CODING_DATA if type == 3 || stored > @block_limit

          stored
        end

        def unpack(bytes)
          output = @decoder.decompress(bytes)
          @output += output.bytesize
          yield output unless output.empty?
        end

        def checksum(&piece)
          bytes = take(4) or return
          unpack(bytes, &piece)
          end_frame
        end

        def end_frame
          raise Failure, :CODING_DATA if @size && @size != @output

          @decoder = nil
          @any_frame = true
          continue_with(:magic)
        end

        def skipped_head
          bytes = take(8) or return
          @left = bytes.unpack1("@4V")
          continue_with(:skipped)
        end

        def skipped
          passed = [@left, @input.bytesize].min
          take(passed)
          return if (@left -= passed).positive?

          @any_frame = true
          continue_with(:magic)
        end
      end
    end
  end
end
