# frozen_string_literal: true

require_relative "origin"
require_relative "pair"

# Sends the same bytes to both engines, and reports differences in status, fields, body and its encoding, trailers,
# error, phase, what was sent, and whether the connection is kept. Some bodies are read piece by piece.
#
#   ruby compare.rb COUNT SEED
#
# The environment's SHOWN is how many differences are printed.
class CompareEngines
  THREADS = 12
  # The number of cases for one pair of processes.
  AT_ONCE = 5_000
  SHOWN = Integer(ENV.fetch("SHOWN", 10))
  ZLIB = /^Content-Encoding: (?:x-)?(?:gzip|deflate)\r$/i
  PARTIAL = %w[InvalidResponse DecodeError HeadersTooLarge TruncatedBody ConnectionClosed]
    .map { |name| "Trunkline::#{name}".inspect }.freeze
  ZSTD = /^Content-Encoding: zstd\r?$/
  CHAIN = /^Content-Encoding: [^\r]*,/
  DECODING = %w[DecodeError BodyTooLarge].map { |name| "Trunkline::#{name}".inspect }.freeze
  OUTCOMES = File.join(__dir__, "outcomes.rb")

  def initialize(count, seed)
    @count = count
    @seed = seed
    ENV["CODINGS"] = EnginePair.common_codings
    { "br" => "brotli", "zstd" => "zstd-ruby" }.each { |name, gem| require gem if ENV["CODINGS"].include?(name) }
    @origin = EnginesOrigin.new(seed)
    @differences = []
  end

  # @return [Boolean] whether there is no difference
  def run
    (0...@count).step(AT_ONCE) { |from| compare(from, [AT_ONCE, @count - from].min) }
    @differences.first(SHOWN).each { |one| report(*one) }
    puts "seed #{@seed}: #{@count} responses, #{@differences.size} differences"
    @differences.empty?
  ensure
    @origin.stop
  end

  private

  def compare(from, count)
    results = EnginePair.results(count, OUTCOMES, @origin.port, @seed, from, count, THREADS)
    (from...(from + count)).each do |number|
      first, second = results.map { |rows| rows.fetch(number) }
      next if first == second || tolerable?(number, first, second) || gem_refuses?(number, second)

      @differences << [number, first, second]
    end
  end

  # Two outcomes may differ in what depends on how much of the data a decoder, or an engine, looks at together:
  #
  # - the bytes that came before a limit was exceeded, or before a fault in br, zstd or several codings; and for several
  #   codings, which of the two is noticed first;
  # - what another version of libzstd takes for corrupt: the engine in Ruby uses that of the gem zstd-ruby;
  # - when HTTP/2 frames come or end in the middle, which of two faults is noticed first, such as that the rest is
  #   missing, and whether the part of a frame was delivered.
  def tolerable?(number, first, second)
    names = (first.keys | second.keys).reject { |name| first[name] == second[name] }
    return false unless (names - %w[error message body]).empty? && prefix?(first, second)

    one = EnginesOrigin.case_of(@seed, number)
    bytes = one.bytes
    if HTTP2Cases.number?(number)
      return errors_among?(PARTIAL, first, second) && (one.pieces.size > 1 || HTTP2Cases.cut?(bytes))
    end
    return first["error"].include?("TooLarge") || !ZLIB.match?(bytes) if names == %w[body]

    CHAIN.match?(bytes) && errors_among?(DECODING, first, second)
  end

  # @return [Boolean] whether the gem zstd-ruby alone takes the body for corrupt
  def gem_refuses?(number, outcome)
    head, body = EnginesOrigin.case_of(@seed, number).bytes.split("\r\n\r\n", 2)
    return false unless outcome["error"] == DECODING.first && ZSTD.match?(head.to_s) && body

    body = unchunked(body) if /^Transfer-Encoding: chunked\r?$/.match?(head)
    Zstd::StreamingDecompress.new.decompress(body)
    false
  rescue RuntimeError
    true
  end

  def unchunked(bytes)
    body = "".b
    while (size = bytes[/\A(\h+)[^\r\n]*\r\n/n, 1])
      start = bytes.index("\n") + 1
      body << bytes.byteslice(start, size.hex)
      bytes = bytes.byteslice((start + size.hex + 2)..) || ""
    end
    body
  end

  def errors_among?(names, *rows) = rows.all? { |row| names.include?(row["error"]) }

  # @return [Boolean] whether both ended in an error, and one has read a part of what the other has
  def prefix?(first, second)
    return false unless first["error"] && second["error"]

    shorter, longer = [first, second].map { |row| row["body"].to_s.unpack1("m") }.sort_by(&:bytesize)
    longer.start_with?(shorter)
  end

  def report(number, first, second)
    one = EnginesOrigin.case_of(@seed, number)
    puts "case #{number} of seed #{@seed}: #{one.verb}, #{one.pieces.size} pieces, #{"not " unless one.streamed}" \
         "streamed: #{one.bytes.inspect[0, 600]}"
    (first.keys | second.keys).each do |name|
      puts "  #{name}: c #{first[name]}, ruby #{second[name]}" if first[name] != second[name]
    end
  end
end

exit CompareEngines.new(Integer(ARGV.fetch(0)), Integer(ARGV.fetch(1))).run if $PROGRAM_NAME == __FILE__
