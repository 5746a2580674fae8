# frozen_string_literal: true

# Reads model streams side by side in one of the ways below, and prints what benchmark/support/token_streams.c prints:
#   ruby benchmark/support/token_reader.rb threads 8080 200
# Seconds until the first token of each are counted from before the first was asked for: of a new process ("anew"),
# whose threads, fibers and sockets touch memory that is not there yet, and then once more.

$LOAD_PATH.unshift(File.expand_path("../../trunkline/lib", __dir__))
require "json"
require "trunkline"

BODY = { model: "m", stream: true, messages: [{ role: "user", content: "hi" }] }.freeze

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
def resident = File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1].to_i * 1024

def read(client, told)
  client.post("/v1/chat/completions", json: BODY, stream: true, raise: true).each_event { |event| told.call(event) }
end

WAYS = {
  "threads" => lambda do |client, streams|
    streams.map { |told| Thread.new { read(client, told) } }.each(&:join)
  end,
  "fibers" => lambda do |client, streams|
    require "async"
    Sync { |task| streams.map { |told| task.async { read(client, told) } }.each(&:wait) }
  end,
  "futures" => lambda do |client, streams|
    streams.map do |told|
      client.async.post("/v1/chat/completions", json: BODY, on_event: ->(event, _response) { told.call(event) })
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
measure(client, way, 1) # what is loaded once takes no time later
before = resident
anew = measure(client, way, Integer(count))
grown = resident - before
GC.start # of what the first time has left
puts JSON.generate(**measure(client, way, Integer(count)), anew: anew, grown: grown)
