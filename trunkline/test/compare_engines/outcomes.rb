# frozen_string_literal: true

# Run with one engine: makes the calls of the cases, and prints the outcome of each as a line of JSON.
#
#   ruby outcomes.rb PORT SEED FROM COUNT THREADS

require "json"
require "trunkline"
require_relative "http2_cases"

PORT, SEED, FROM, COUNT, THREADS = ARGV.map(&:to_i)

# Masks the parts of a message that differ between runs.
def masked(sentence)
  sentence.gsub(/\d+(\.\d+)? ?(ms|s|µs)\b/, "TIME").gsub(/:\d{2,5}\b/, ":PORT")
    .sub(/malformed \(".*"\)/, "malformed (CAME)") # the quoted bytes depend on timing
end

def facts_of(response)
  { status: response.status, reason: response.reason, version: response.http_version, fields: response.headers.to_a,
    trailers: response.trailers.to_a, hints: response.early_hints.map(&:to_a), body: [response.body].pack("m0") }
end

def facts_of_error(error)
  { error: error.class.name, message: masked(error.message), phase: error.phase, sent: error.sent }
end

def outcome(number)
  HTTP2Cases.number?(number) ? outcome_over_http2(number) : outcome_over_http1(number)
end

def call(number, one, http)
  client = Trunkline.new("http://127.0.0.1:#{PORT}", timeout: { total: 20 }, max_idle: 1, max_body_bytes: 100_000,
                                                     http: http)
  options = one.verb == "POST" ? { body: "sent" } : {}
  facts = begin
    facts_of(client.request(one.verb, "/#{number}", options))
  rescue Trunkline::Error => error
    facts_of_error(error)
  end
  yield facts, client if block_given?
  { number: number, **facts }
ensure
  client&.close
end

def outcome_over_http1(number)
  one = Cases.make(SEED, number)
  call(number, one, :h1) do |facts, client|
    # Whether bytes after the response arrive in time to be noticed is certain only when all bytes are written at once.
    facts[:kept] = client.stats[:idle] if one.pieces.size == 1
  end
end

# Messages about a server's errors in HTTP/2 are excluded: each engine has its own.
def outcome_over_http2(number)
  one = HTTP2Cases.make(SEED, number)
  facts = call(number, one, :h2).except(:message)
  facts[:error] && HTTP2Cases.cut?(one.bytes) ? { number: number, error: true } : facts
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
      facts = outcome(number).transform_values { |value| value.is_a?(String) ? value.b.inspect : value.inspect }
      line = JSON.generate(facts)
      lock.synchronize { puts line }
    end
  end
end
workers.each(&:join)
