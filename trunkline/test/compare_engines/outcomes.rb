# frozen_string_literal: true

# Run with one engine: makes the calls of the cases, and prints the outcome of each as a line of JSON.
#
#   ruby outcomes.rb PORT SEED FROM COUNT THREADS

require "json"
require "trunkline"
require_relative "origin"

PORT, SEED, FROM, COUNT, THREADS = ARGV.map(&:to_i)
ENV.fetch("CODINGS").then do |codings| # the cases are made here too
  require "brotli" if codings.include?("br")
  require "zstd-ruby" if codings.include?("zstd")
end

# Makes the calls of one case.
class Outcome
  LIMITS = { timeout: { total: 20 }, max_idle: 1, max_body_bytes: 100_000 }.freeze

  def initialize(number)
    @number = number
    @one = EnginesOrigin.case_of(SEED, number)
    @http2 = HTTP2Cases.number?(number)
  end

  # @return [Hash]
  def to_h
    facts = @http2 ? over_http2 : over_http1
    body = facts.delete(:body)
    rest = { number: @number, **facts }.transform_values do |value|
      value.is_a?(String) ? value.b.inspect : value.inspect
    end
    body ? rest.merge(body: [body].pack("m0")) : rest
  end

  private

  # Whether bytes after the response arrive in time to be noticed is certain only when all bytes are written at once. So
  # for bytes in pieces the connection is compared only if it is kept after the same bytes at once: none follow then.
  def over_http1
    facts, kept = call("/#{@number}", :h1)
    certain = @one.pieces.size == 1 || (facts[:status] && call("/#{@number}/whole", :h1).last == 1)
    certain ? facts.merge(kept: kept) : facts
  end

  # Messages about a server's errors in HTTP/2 are excluded: each engine has its own. After an error an engine may end
  # the stream or the connection.
  def over_http2
    facts, kept = call("/#{@number}", :h2)
    facts = facts.except(:message)
    @one.pieces.size == 1 && facts[:status] ? facts.merge(kept: kept) : facts
  end

  # @return [Array(Hash, Integer)] the facts, and how many connections are kept
  def call(path, http)
    client = Trunkline.new("http://127.0.0.1:#{PORT}", http: http, **LIMITS)
    [@one.streamed ? streamed(client, path) : buffered(client, path), client.stats[:idle]]
  ensure
    client&.close
  end

  def options = @one.verb == "POST" ? { body: "sent" } : {}

  def buffered(client, path)
    response = client.request(@one.verb, path, options)
    facts_of(response).merge(body: response.body, encoding: response.body.encoding)
  rescue Trunkline::Error => error
    facts_of_error(error)
  end

  # The bytes that came before an error are compared too.
  def streamed(client, path)
    bytes = "".b
    response = client.request(@one.verb, path, stream: true, **options)
    encoding = response.external_encoding
    while (piece = response.read)
      bytes << piece.b
    end
    facts_of(response).merge(body: bytes, encoding: encoding)
  rescue Trunkline::Error => error
    facts_of_error(error).merge(head: response&.status, body: bytes, encoding: encoding)
  end

  def facts_of(response)
    { status: response.status, reason: response.reason, version: response.http_version, fields: response.headers.to_a,
      trailers: response.trailers.to_a, hints: response.early_hints.map(&:to_a) }
  end

  def facts_of_error(error)
    { error: error.class.name, message: masked(error.message), phase: error.phase, sent: error.sent }
  end

  # Masks the parts of a message that differ between runs.
  def masked(sentence)
    sentence.gsub(/\d+(\.\d+)? ?(ms|s|µs)\b/, "TIME").gsub(/:\d{2,5}\b/, ":PORT")
      .sub(/malformed \(".*"\)/, "malformed (CAME)") # the quoted bytes depend on timing
  end
end

numbers = Queue.new
(FROM...(FROM + COUNT)).each { |number| numbers << number }
numbers.close
lock = Mutex.new
$stdout.sync = false
Thread.report_on_exception = false
workers = Array.new(THREADS) do
  Thread.new do
    while (number = numbers.pop)
      line = JSON.generate(Outcome.new(number).to_h)
      lock.synchronize { puts line }
    end
  end
end
workers.each(&:join)
