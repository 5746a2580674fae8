# frozen_string_literal: true

# Run with one engine: makes the calls of the cases, and prints the outcome of each as a line of JSON. With 0 threads,
# only describes the cases.
#
#   ruby outcomes.rb FOLDER SEED FROM COUNT THREADS

require "json"
require "trunkline"
require_relative "outcome"
require_relative "recorder"

FOLDER = ARGV.shift
SEED, FROM, COUNT, THREADS = ARGV.map(&:to_i)
ENV["HOME"] = FOLDER # for netrc:
Dir.chdir(FOLDER)
Trunkline.configure { |defaults| defaults.logger = RequestFacts::Log }
numbers = Queue.new
(FROM...(FROM + COUNT)).each { |number| numbers << number }
numbers.close

def describe(numbers, recorder)
  puts RequestCase.new(SEED, numbers.pop, recorder) until numbers.empty?
end

def run(numbers, recorder, lock)
  while (number = numbers.pop)
    line = JSON.generate(RequestOutcome.new(RequestCase.new(SEED, number, recorder), recorder).to_h)
    lock.synchronize { puts line }
  end
end

describe(numbers, RequestRecorder.new(FOLDER)) if THREADS.zero?
lock = Mutex.new
$stdout.sync = false
Thread.report_on_exception = false
Array.new(THREADS) { Thread.new { run(numbers, RequestRecorder.new(FOLDER), lock) } }.each(&:join)
