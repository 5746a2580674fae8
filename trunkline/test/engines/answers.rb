# frozen_string_literal: true

# Run with one engine: makes the calls of the cases, and prints what came of each as a line of JSON.
#
#   ruby answers.rb PORT SEED FROM COUNT THREADS

require "json"
require "trunkline"
require_relative "cases"

PORT, SEED, FROM, COUNT, THREADS = ARGV.map(&:to_i)

# What differs from run to run.
def masked(sentence)
  sentence.gsub(/\d+(\.\d+)? ?(ms|s|µs)\b/, "TIME").gsub(/:\d{2,5}\b/, ":PORT")
end

def facts_of(response)
  { status: response.status, reason: response.reason, version: response.http_version, fields: response.headers.to_a,
    trailers: response.trailers.to_a, hints: response.early_hints.map(&:to_a), body: [response.body].pack("m0") }
end

def facts_of_error(error)
  { error: error.class.name, message: masked(error.message), phase: error.phase, sent: error.sent }
end

def outcome(number)
  one = Cases.make(SEED, number)
  client = Trunkline.new("http://127.0.0.1:#{PORT}", timeout: { total: 20 }, max_idle: 1, max_body_bytes: 100_000)
  options = one.verb == "POST" ? { body: "sent" } : {}
  facts = begin
    facts_of(client.request(one.verb, "/#{number}", options))
  rescue Trunkline::Error => error
    facts_of_error(error)
  end
  # Whether bytes behind the answer are there in time to be seen is certain only where all are written at once.
  facts[:kept] = client.stats[:idle] if one.pieces.size == 1
  { number: number, **facts }
ensure
  client&.close
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
