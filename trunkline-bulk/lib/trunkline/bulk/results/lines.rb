# frozen_string_literal: true

require "json"
require "zlib"
require_relative "../results"

module Trunkline
  class Bulk
    module Results
      # JSON lines, plain or compressed: each write is a member of gzip, or a frame of zstd. A file that is there is
      # continued.
      class Lines
        # Bytes that are written at once.
        AT_ONCE = 65_536
        private_constant :AT_ONCE

        # @return [#call] compresses a String to a frame
        # @raise [Unavailable]
        def self.zstd
          require "zstd-ruby"
          ::Zstd.method(:compress)
        rescue LoadError
          raise Unavailable, "results in .zst need the gem zstd-ruby: add gem \"zstd-ruby\" to the Gemfile"
        end

        # @param path [String]
        # @raise [Unavailable]
        def initialize(path)
          cut_partial_line(path) if path.end_with?("l", "n")
          @file = File.open(path, "ab")
          @codec = { ".gz" => Zlib.method(:gzip), ".zst" => (Lines.zstd if path.end_with?(".zst")) }[File.extname(path)]
          @buffer = +""
        end

        # @param row [Hash]
        def <<(row)
          @buffer << JSON.generate(row) << "\n"
          flush if @buffer.bytesize >= AT_ONCE
          self
        end

        # @return [void]
        def flush
          return if @buffer.empty?

          @file.write(@codec ? @codec.call(@buffer) : @buffer)
          @file.flush
          @buffer.clear
        end

        # @return [void]
        def close
          flush
          @file.close
        end

        private

        # Of a process that was killed while it wrote.
        def cut_partial_line(path)
          return unless File.exist?(path) && !File.empty?(path)

          File.open(path, "r+b") do |file|
            file.seek(-1, IO::SEEK_END)
            next if file.read(1) == "\n"

            size = file.size
            tail = [size, 1_048_576].min
            file.seek(size - tail)
            last = file.read(tail).rindex("\n")
            file.truncate(last ? size - tail + last + 1 : 0)
          end
        end
      end
    end
  end
end
