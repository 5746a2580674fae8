# frozen_string_literal: true

# Reads streams with one library, in a separate process:
#
#   ruby program.rb <name in ModelLibraries> plain|installed|adapter http://127.0.0.1:8080
#
# Prints the version of the library's gem, and the delay of each token of each stream in seconds, as JSON.
require "json"
require_relative "libraries"

ROUNDS = 3

name, mode, url = ARGV
library = ModelLibraries::ALL.fetch(name)
spec = Gem.loaded_specs.fetch(library.gem)
$LOAD_PATH.unshift(*spec.full_require_paths) # activates this gem only: two gems have a file openai.rb

case mode
when "installed"
  require "trunkline/net_http"
  Trunkline::NetHTTP.install!
when "adapter"
  require "trunkline/faraday"
  Faraday.default_adapter = :trunkline
end

rounds = Array.new(ROUNDS) do
  delays = []
  library.ask.call(url) do |text|
    came = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    delays << (came - Float(text)) unless text.nil? || text.empty?
  end
  delays
end
puts JSON.generate(version: spec.version.to_s, rounds: rounds)
