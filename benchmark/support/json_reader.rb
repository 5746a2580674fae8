# frozen_string_literal: true

# Reads one JSON body in one of the ways below, and prints the seconds of CPU that it took, and by how many bytes the
# process grew:
#   ruby benchmark/support/json_reader.rb each_json http://127.0.0.1:8080/array/objects?bytes=1000000

$LOAD_PATH.unshift(File.expand_path("../../trunkline/lib", __dir__))
require "json"
require "trunkline"

WAYS = {
  "json" => ->(client, url) { client.get(url).json.each { |value| value } },
  "json_lines" => ->(client, url) { client.get(url).body.each_line { |line| JSON.parse(line) } },
  "each_json" => ->(client, url) { client.get(url, stream: true).each_json { |value| value } },
  "each_json_path" => ->(client, url) { client.get(url, stream: true).each_json("*.address.city") { |value| value } }
}.freeze

def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
def highest = File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1].to_i * 1024

way, url = ARGV
client = Trunkline.new(timeout: { connect: 5, read: 30 }, max_body_bytes: nil)
before = highest
WAYS.fetch(way).call(client, url.sub(/\d+\z/, "1000000")) # loads everything once, so that the measured run does not
began = cpu
WAYS.fetch(way).call(client, url)
seconds = cpu - began
puts JSON.generate(seconds: seconds, grown: highest - before)
