# frozen_string_literal: true

require "zlib"

module Trunkline
  class Bulk
    module Results
      # How many bytes of a file were written to their end: a process that was killed, or a disk that was full, leaves a
      # part of a line, of a member of gzip or of a frame of zstd behind them.
      #
      # @api private
      module Whole
        # Bytes that are read at first.
        TAIL = 131_072
        # A member that Zlib.gzip has made: any time, any level, any system.
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

        # From frame to frame: what begins one may be within another as well.
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

        # @return [Integer, nil] where the last of them begins
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

        # @return [Integer, nil] nil: there is none, or not all of it (RFC 8878 3.1.1)
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

        # @return [String, nil] nil: there are not as many
        def read(file, at, count)
          bytes = file.pread(count, at)
          bytes if bytes.bytesize == count
        rescue EOFError
          nil
        end
        private_class_method :last, :end_of_frame, :end_of_blocks, :read
      end
    end
  end
end
