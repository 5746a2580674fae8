# frozen_string_literal: true

require "json"
require "zlib"
require_relative "../results"
require_relative "complete_prefix"

module Trunkline
  class Bulk
    module Results
      # Writes JSON lines, plain or compressed: each write is one gzip member, or one zstd frame. An existing file is
      # continued after its last complete line, member or frame.
      class Lines
        # The number of buffered bytes that causes a write.
        AT_ONCE = 65_536
        private_constant :AT_ONCE

        # @param path [String]
        # @raise [Unavailable]
        # @raise [InvalidRequest] when another process writes to it
        def initialize(path)
          @compress, format = format_of(path)
          @file = File.open(path, File::RDWR | File::CREAT | File::BINARY)
          # Each of two writers would remove an unfinished write of the other, as the remainder of a killed process.
          unless @file.flock(File::LOCK_EX | File::LOCK_NB)
            raise InvalidRequest, "out: #{path} is being written by another process"
          end

          @file.sync = true # data that could not be written must not stay in a buffer that #close writes
          @size = CompletePrefix.public_send(format, @file)
          @file.truncate(@size)
          @file.seek(@size)
          @buffer = +""
        end

        # @param row [Hash]
        def <<(row)
          @buffer << line(row) << "\n"
          flush if @buffer.bytesize >= AT_ONCE
          self
        end

        # @return [void]
        def flush
          return if @buffer.empty?

          bytes = @compress ? @compress.call(@buffer) : @buffer
          @file.write(bytes)
          @size += bytes.bytesize
          @buffer.clear
        rescue SystemCallError
          @file.truncate(@size) # removes the part that was written before the disk was full
          @file.seek(@size)
          raise
        end

        # @param flush [Boolean] false to discard the buffered rows
        # @return [void]
        def close(flush: true)
          self.flush if flush
        ensure
          @file.close
        end

        private

        # @return [Array(#call, Symbol)] a function that compresses a String, or nil; a method of CompletePrefix
        def format_of(path)
          case File.extname(path)
          when ".gz" then [Zlib.method(:gzip), :gzip]
          when ".zst" then [zstd, :zstd]
          else [nil, :lines]
          end
        end

        def zstd
          require "zstd-ruby"
          ::Zstd.method(:compress)
        rescue LoadError
          raise Unavailable, "results in .zst need the gem zstd-ruby: add gem \"zstd-ruby\" to the Gemfile"
        end

        def line(row)
          JSON.generate(row)
        rescue JSON::GeneratorError, EncodingError
          JSON.generate(valid(row))
        end

        # Replaces bytes that are not UTF-8 (in a URL, a header field).
        def valid(value)
          case value
          when Hash then value.to_h { |name, one| [valid(name), valid(one)] }
          when Array then value.map { |one| valid(one) }
          when String then value.dup.force_encoding(Encoding::UTF_8).scrub
          else value
          end
        end
      end
    end
  end
end
