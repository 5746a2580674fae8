# frozen_string_literal: true

# Reads concurrent model streams in one of the ways below, and prints what benchmark/support/token_streams.c prints:
#   ruby benchmark/support/token_reader.rb threads 8080 200
# The seconds until the first token of each stream are counted from before the first request. All streams are read
# twice: first in a new process ("anew"), whose threads, fibers and sockets touch memory for the first time, then once
# more.

$LOAD_PATH.unshift(File.expand_path("../../trunkline/lib", __dir__))
require "json"
require "trunkline"

BODY = { model: "m", stream: true, messages: [{ role: "user", content: "hi" }] }.freeze

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def resident = File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1].to_i * 1024

def read(client, receive)
  client.post("/v1/chat/completions", json: BODY, stream: true, raise: true).each_event { |event| receive.call(event) }
end

WAYS = {
  "threads" => lambda do |client, streams|
    streams.map { |receive| Thread.new { read(client, receive) } }.each(&:join)
  end,
  "fibers" => lambda do |client, streams|
    require "async"
    Sync { |task| streams.map { |receive| task.async { read(client, receive) } }.each(&:wait) }
  end,
  "futures" => lambda do |client, streams|
    streams.map do |receive|
      client.async.post("/v1/chat/completions", json: BODY, on_event: ->(event, _response) { receive.call(event) })
    end.each(&:value!)
  end
}.freeze

def measure(client, way, count)
  firsts = []
  tokens = 0
  started = now
  streams = Array.new(count) do
    first = nil
    lambda do |_event|
      firsts << (first = now - started) unless first
      tokens += 1
    end
  end
  WAYS.fetch(way).call(client, streams)
  { firsts: firsts.sort, tokens: tokens }
end

way, port, count = ARGV
client = Trunkline.new("http://127.0.0.1:#{port}", timeout: { connect: 5, first_byte: 30, read: 30 },
                                                   max_connections_per_host: Integer(count))
measure(client, way, 1) # loads everything once, so that the measured runs do not
before = resident
anew = measure(client, way, Integer(count))
grown = resident - before
GC.start # collects the garbage of the first run
puts JSON.generate(**measure(client, way, Integer(count)), anew: anew, grown: grown)
