# frozen_string_literal: true

require "stringio"
require "zlib"

# Responses for both engines: those of the fuzzing corpus, complete ones of each form, and mutations of these. The same
# seed and number make the same case.
module Cases
  # verb: of the request; pieces: of the response, written with a pause between them; streamed: whether the body is read
  # piece by piece
  Case = Struct.new(:number, :verb, :pieces, :streamed) do
    def bytes = pieces.join
  end

  # The first three bytes of each file are parameters of the fuzzer.
  CORPUS = File.expand_path("../fuzz/corpus/http1_response", __dir__)
  GZIP = Zlib.gzip("a body that was compressed\n" * 3).tap { |bytes| bytes[4, 4] = "\0" * 4 } # clears the time stamp
  WHOLE = [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\nx-a: c\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n" \
    "5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX-T: t\r\n\r\n",
    "HTTP/1.0 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nuntil the end",
    "HTTP/1.1 204 No Content\r\nETag: \"x\"\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" \
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nend",
    "HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: #{GZIP.bytesize}\r\n\r\n".b + GZIP,
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".b +
      "#{GZIP.bytesize.to_s(16)}\r\n".b + GZIP + "\r\n0\r\n\r\n".b,
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"
  ].map(&:b).freeze
  TOKENS = ["\r\n", "\n", "\r", "\0", " ", "\t", ":", ",", ";", "\x80", "\xFF", "-1", "0x10", "+5", "9" * 20,
            "00", "chunked", "gzip", "identity", "close", "keep-alive", "HTTP/1.1 200 OK\r\n", "HTTP/2 200\r\n",
            "\r\n ", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n",
            "Connection: close\r\n", "Content-Encoding: gzip\r\n", "0\r\n\r\n", ";ext=\"a\"", "x" * 300].map(&:b).freeze
  METHODS = (["GET"] * 8 + %w[HEAD POST]).freeze

  module_function

  # @param seed [Integer]
  # @param number [Integer]
  # @return [Case]
  def make(seed, number)
    random = Random.new((seed * 1_000_003) + number)
    bytes = bases[number % bases.size].dup
    random.rand(number < bases.size ? 1 : 4).times { mutate(bytes, random) }
    Case.new(number, METHODS[random.rand(METHODS.size)], split(bytes, random, number), random.rand(3).zero?)
  end

  def bases
    @bases ||= (WHOLE + Dir["#{CORPUS}/*"].map { |file| File.binread(file).byteslice(3..) }).freeze
  end

  def mutate(bytes, random)
    at = random.rand(bytes.bytesize + 1)
    count = random.rand(1..8)
    case random.rand(5)
    when 0 then bytes.setbyte(at, random.rand(256)) if at < bytes.bytesize
    when 1 then bytes.slice!(at, count)
    when 2 then bytes.insert(at, bytes.byteslice(at, count) || "")
    when 3 then bytes.insert(at, TOKENS[random.rand(TOKENS.size)])
    when 4 then bytes.slice!(at..)
    end
  end

  # Returns the bytes whole, one at a time, or split at random places.
  def split(bytes, random, number)
    case number % 3
    when 0 then [bytes]
    when 1 then bytes.bytesize > 600 ? bytes.scan(/.{1,97}/mn) : bytes.chars
    else
      cuts = Array.new(random.rand(1..4)) { random.rand(bytes.bytesize + 1) }.sort
      [0, *cuts].zip([*cuts, bytes.bytesize]).map { |from, to| bytes.byteslice(from, to - from) }.reject(&:empty?)
    end
  end
end
