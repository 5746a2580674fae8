# frozen_string_literal: true

require "stringio"
require "zlib"
require_relative "fault"

module Trunkline
  module Lab
    module Faults
      # Bodies that grow when they are decoded, or that cannot be decoded.
      module Codings
        extend Group

        # Run-length blocks of 128 KiB: magic number, frame header, window of 1 MiB, blocks of (last, type 1, size).
        # @param megabytes [Integer] of zeros
        def self.zstd_bomb(megabytes)
          blocks = megabytes * 8
          heads = Array.new(blocks) { |index| (index == blocks - 1 ? 1 : 0) | (1 << 1) | (131_072 << 3) }
          [0xFD2FB528, 0, 0x50].pack("VCC") + heads.map { |head| "#{[head].pack("V")[0, 3]}\0" }.join
        end

        # @param megabytes [Integer] of zeros
        def self.gzip(megabytes)
          io = StringIO.new("".b)
          writer = Zlib::GzipWriter.new(io)
          megabytes.times { writer.write(Bytes::MEGABYTE) }
          writer.finish
          io.string
        end

        # @return [String] the bytes with one bit of one byte changed
        def self.flipped(bytes, index) = bytes.dup.tap { |one| one.setbyte(index, one.getbyte(index) ^ 1) }

        # @return [String] 24 MB of zeros, made once
        def self.bomb = @bomb ||= gzip(24).freeze

        def self.coded(name, does, coding, bytes, **rest)
          add(name, does, response(bytes, "Content-Encoding" => coding), coded: bytes, **rest)
        end

        # Created with the programs brotli and zstd: 24 MB of zeros, and "ok".
        BOMBS = { "br" => "y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v1f/v//4Z8AiMMCAN37Pw==".unpack1("m"),
                  "zstd" => zstd_bomb(24) }.freeze
        OKS = { "br" => "iwCAb2sD".unpack1("m"), "zstd" => "KLUv/QRYEQAAb2v5XBQW".unpack1("m") }.freeze

        group "Codings"

        coded :bomb, "24 MB of zeros as gzip", "gzip", bomb
        coded :nested_bomb, "the same, as gzip within gzip", "gzip, gzip", Zlib.gzip(bomb)
        coded :many_codings, "gzip ten times over", (["gzip"] * 10).join(", "), "x"
        coded :gzip_cut, "gzip that ends early", "gzip", Zlib.gzip("ok" * 1000)[0..-12]
        coded :gzip_bad_crc, "gzip with a wrong checksum", "gzip", flipped(Zlib.gzip("ok"), -8)
        coded :no_gzip, "`Content-Encoding: gzip` of something else", "gzip", "no gzip at all"
        coded :gzip_members, "gzip of two members", "gzip", Zlib.gzip("o") + Zlib.gzip("k"), body: "ok"
        coded :gzip_many_members, "gzip of 100,000 empty members and one that is not", "gzip",
              (Zlib.gzip("") * 100_000) + Zlib.gzip("ok"), body: "ok"
        OKS.each do |coding, ok|
          options = { coding: coding }
          coded :"#{coding}_bomb", "24 MB of zeros as #{coding}", coding, BOMBS.fetch(coding), **options
          coded :"#{coding}_in_gzip", "24 MB of zeros as #{coding}, within gzip", "#{coding}, gzip",
                Zlib.gzip(BOMBS.fetch(coding)), **options
          coded :"#{coding}_cut", "#{coding} that ends early", coding, ok[0..-2], **options
          coded :"#{coding}_none", "`Content-Encoding: #{coding}` of something else", coding, "none at all", **options
        end
        coded :zstd_bad_checksum, "zstd with a wrong checksum", "zstd", flipped(OKS["zstd"], -1), coding: "zstd"
        coded :zstd_frames, "zstd of two frames", "zstd", OKS["zstd"] * 2, body: "okok", coding: "zstd"
      end
    end
  end
end
