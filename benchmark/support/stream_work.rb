# frozen_string_literal: true

# Parses one stream in a separate process, and prints the number of events or lines and the seconds of CPU:
#   ruby stream_work.rb WHO COUNT
# Parsers of the same kind of stream receive the same chunks.

require "stringio"
require "trunkline"
require "trunkline/stubs"

CHUNK = 16 * 1024
count = Integer(ARGV[1])
events = -> { "data: x\n\n" * count }
lines = -> { Array.new(count) { |number| "line #{number} of many small ones\n" }.join }

streamed = lambda do |text, &read|
  Trunkline::Stubs.use do |stubs|
    stubs.get("http://stream.test/").answer(body: text, headers: { "Content-Type" => "text/plain; charset=utf-8" })
    read.call(Trunkline.get("http://stream.test/", timeout: 5, stream: true))
  end
end
chunks = ->(text) { Array.new(text.bytesize.fdiv(CHUNK).ceil) { |at| text.byteslice(at * CHUNK, CHUNK) } }

# Parser => [proc that prepares its input, proc that is measured with that input]
WORK = {
  "trunkline" => [events >> chunks, lambda do |given|
    parser = Trunkline::EventStreamParser.new
    given.sum { |chunk| found = 0; parser.feed(chunk) { |_event| found += 1 }; found } # rubocop:disable Style/Semicolon
  end],
  "event_stream_parser" => [events >> chunks, lambda do |given|
    require "event_stream_parser"
    parser = EventStreamParser::Parser.new
    given.sum { |chunk| found = 0; parser.feed(chunk) { |*_event| found += 1 }; found } # rubocop:disable Style/Semicolon
  end],
  "each_line" => [lines, ->(text) { streamed.call(text) { |response| response.each_line(chomp: true).count } }],
  "string_io" => [lines, ->(text) { StringIO.new(text).each_line(chomp: true).count }]
}.freeze

prepare, work = WORK.fetch(ARGV[0])
given = prepare.call
GC.start
before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
found = work.call(given)
puts "#{found} #{Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before}"
