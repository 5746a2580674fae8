# frozen_string_literal: true

require "zlib"
require_relative "cases"

# Responses with coded bodies for both engines, complete and mutated: gzip, deflate, and, when both engines decode them,
# br and zstd. The same seed, number and codings make the same case.
module CodedCases
  # One in EVERY cases is a case of a coded body; none of them is an HTTP/2 case.
  EVERY = 8
  # The names that a server may give a body. Most often the name is the right one.
  OTHER_NAMES = %w[gzip x-gzip deflate identity br zstd compress GZIP] + ["gzip, gzip", "identity, gzip", ", gzip ,"]
  # Parts of frames of zstd (RFC 8878): the magic number, a skippable frame, and blocks of "ab" and "ccc".
  MAGIC = "\x28\xB5\x2F\xFD".b
  SKIPPABLE = "\x50\x2A\x4D\x18\x03\0\0\0xyz".b
  RAW_BLOCK = "\x10\0\0ab".b
  REPEATED_BLOCK = "\x1A\0\0c".b
  LAST_BLOCK = "\x01\0\0".b
  WINDOW = "\x58".b # 2 MiB
  WIDE_WINDOW = "\xF8".b
  FRAMINGS = %i[length length chunked chunked close].freeze
  TYPES = ["text/plain; charset=utf-8", "text/plain; charset=iso-8859-1", "application/json",
           "text/plain; charset=utf-16", "text/plain; charset=nonsense", nil].freeze

  module_function

  # @return [Array<String>] the codings that both engines decode; ENV passes them on to other processes
  def codings = ENV.fetch("CODINGS", "gzip, deflate").split(", ")

  # @return [Boolean] whether the case with this number is one of a coded body
  def number?(number) = number % EVERY == 1

  # @return [Cases::Case]
  def make(seed, number)
    random = Random.new((seed * 1_000_081) + number)
    name = codings[random.rand(codings.size)]
    body = encode(name, text(random), random)
    if random.rand(12).zero?
      name = "#{name}, gzip"
      body = gzip(body)
    end
    random.rand(3).times { Cases.mutate(body, random) } if random.rand(3).positive?
    name = OTHER_NAMES[random.rand(OTHER_NAMES.size)] if random.rand(8).zero?
    bytes = response(name, body, random)
    Cases.mutate(bytes, random) if random.rand(10).zero?
    Cases::Case.new(number, Cases::METHODS[random.rand(Cases::METHODS.size)],
                    Cases.split(bytes, random, number / EVERY), random.rand(2).zero?)
  end

  # Some texts are larger than a piece of a streamed body, than max_body_bytes, or denser than max_decode_ratio.
  def text(random)
    case random.rand(6)
    when 0 then ""
    when 1 then "short"
    when 2 then random.bytes(random.rand(9000))
    when 3 then "x" * random.rand(300_000)
    else
      words = %w[one two three fünf €uro].map(&:b)
      Array.new(random.rand(4000)) { words[random.rand(words.size)] }.join(" ")
    end
  end

  def encode(name, text, random)
    case name
    when "gzip" then several(text, random) { |part| gzip(part) }
    when "deflate" then random.rand(2).zero? ? Zlib.deflate(text) : Zlib::Deflate.new(5, -15).deflate(text, Zlib::FINISH)
    when "br" then Brotli.deflate(text, quality: 4)
    when "zstd" then random.rand(2).zero? ? several(text, random) { |part| Zstd.compress(part) } : frames(random)
    end.b
  end

  # Clears the time stamp.
  def gzip(text) = Zlib.gzip(text).tap { |bytes| bytes[4, 4] = "\0" * 4 }

  # Members or frames, one after the other, decode to one body.
  def several(text, random)
    cut = random.rand(4).zero? ? random.rand(text.bytesize + 1) : 0
    first = text.byteslice(0, cut)
    rest = text.byteslice(cut..)
    (first.empty? ? "".b : yield(first)) + yield(rest)
  end

  # Frames of which a compressor makes none: without a checksum or a size, with blocks that are stored or empty.
  def frames(random)
    Array.new(random.rand(1..3)) do
      next SKIPPABLE if random.rand(4).zero?

      blocks = Array.new(random.rand(4)) { [RAW_BLOCK, REPEATED_BLOCK, "\0\0\0".b][random.rand(3)] }
      [MAGIC, "\0", random.rand(8).zero? ? WIDE_WINDOW : WINDOW, *blocks, LAST_BLOCK].join
    end.join
  end

  def response(name, body, random)
    type = TYPES[random.rand(TYPES.size)]
    fields = ["Content-Encoding: #{name}\r\n", ("Content-Type: #{type}\r\n" if type)].compact.join
    case FRAMINGS[random.rand(FRAMINGS.size)]
    when :length then head(fields, "Content-Length: #{body.bytesize}\r\n") + body
    when :close then head(fields, "Connection: close\r\n") + body
    else head(fields, "Transfer-Encoding: chunked\r\n") + chunks(body, random)
    end
  end

  def head(fields, framing) = "HTTP/1.1 200 OK\r\n#{fields}#{framing}\r\n".b

  def chunks(body, random)
    size = random.rand(1..4000)
    parts = (0...body.bytesize).step(size).map { |from| body.byteslice(from, size) }
    parts.map { |part| "#{part.bytesize.to_s(16)}\r\n".b + part + "\r\n" }.join + "0\r\n\r\n".b
  end
end
