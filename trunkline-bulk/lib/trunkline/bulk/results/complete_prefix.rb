# frozen_string_literal: true

require "zlib"

module Trunkline
  class Bulk
    module Results
      # Finds the end of the last complete line, gzip member or zstd frame in a file. A killed process, or a full disk,
      # may leave an incomplete one after it.
      #
      # @api private
      module CompletePrefix
        # The number of bytes at the end that are searched first.
        TAIL = 131_072
        # The header of a member that Zlib.gzip has written: with any time, level and system.
        GZIP = /\x1F\x8B\x08\x00....[\x00\x02\x04]./mn
        HEADER = 10
        ZSTD = 0xFD2FB528
        private_constant :GZIP, :HEADER, :TAIL, :ZSTD

        module_function

        # @param file [File]
        # @return [Integer]
        def lines(file)
          at = last(file, "\n")
          at ? at + 1 : 0
        end

        # @param file [File]
        # @return [Integer]
        def gzip(file)
          at = last(file, GZIP) or return file.size < HEADER ? 0 : file.size # recompressed by another program
          file.seek(at)
          member = Zlib::Inflate.new(Zlib::MAX_WBITS + 16)
          member << file.read
          at + (member.finished? ? member.total_in : 0)
        rescue Zlib::Error
          at
        ensure
          member&.close
        end

        # Reads from frame to frame, because the magic number may also occur within a frame.
        # @param file [File]
        # @return [Integer]
        def zstd(file)
          at = 0
          while (behind = end_of_frame(file, at))
            at = behind
          end
          magic = read(file, at, 4)&.unpack1("V")
          magic.nil? || magic == ZSTD ? at : file.size
        end

        # @return [Integer, nil] the offset of the last match
        def last(file, pattern)
          size = file.size
          length = [TAIL, size].min
          loop do
            file.seek(size - length)
            at = file.read(length).rindex(pattern)
            return size - length + at if at
            return if length == size

            length = [length * 8, size].min
          end
        end

        # @return [Integer, nil] nil if there is no complete frame (RFC 8878 3.1.1)
        def end_of_frame(file, at)
          magic, descriptor = read(file, at, 5)&.unpack("VC")
          return unless magic == ZSTD

          single = descriptor[5]
          at += 5 + (1 - single) + [0, 1, 2, 4][descriptor & 3] + [single, 2, 4, 8][descriptor >> 6]
          at = end_of_blocks(file, at) or return
          at += 4 * descriptor[2]
          at if at <= file.size
        end

        def end_of_blocks(file, at)
          loop do
            bytes = read(file, at, 3) or return
            header = "#{bytes}\0".unpack1("V")
            at += 3 + (header[1, 2] == 1 ? 1 : header >> 3) # type 1 is one byte, repeated
            return at if header[0] == 1
          end
        end

        # Does not use IO#pread, which may crash a process with a fiber scheduler since Ruby 3.3, as IO#pwrite does.
        # @return [String, nil] nil if there are fewer bytes
        def read(file, at, count)
          file.seek(at)
          bytes = file.read(count)
          bytes if bytes&.bytesize == count
        end
        private_class_method :last, :end_of_frame, :end_of_blocks, :read
      end
    end
  end
end
