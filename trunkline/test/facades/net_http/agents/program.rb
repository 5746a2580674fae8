# frozen_string_literal: true

# Runs one comparison in a separate process: an agent with Net::HTTP, with or without install!, in one of two orders.
#
#   ruby program.rb <agent's file> plain|agent_first|install_first '{"get": 8080, ...}' ca.pem
#
# LEVEL in the environment is the library that the agent instruments: net_http, or faraday, for which our adapter
# replaces install!. Prints the results for the caller and the agent's records for each case, and the versions of the
# gems, as JSON. The agent's file defines Watched.watch, which yields and returns what the agent recorded meanwhile.
require "json"
require "net/http"
require_relative "calls"
require_relative "faraday_calls" if ENV["LEVEL"] == "faraday"
require_relative "mask"

agent, order, ports, ca_file = ARGV
ports = JSON.parse(ports, symbolize_names: true)
$stdout.sync = true
out = $stdout.dup
$stdout.reopen($stderr) # the output of agents must not be part of the report

install = lambda do
  require "trunkline/#{ENV.fetch("LEVEL")}"
  ENV["LEVEL"] == "faraday" ? Agents::FaradayCalls.adapter = :trunkline : Trunkline::NetHTTP.install!
end

install.call if order == "install_first"
require_relative "watched/#{agent}"
install.call if order == "agent_first"

cases = Agents::Calls::CASES.keys.to_h do |name|
  calls = (ENV["LEVEL"] == "faraday" ? Agents::FaradayCalls : Agents::Calls).new(ports, ca_file)
  seen = Watched.watch { calls.perform(name) }
  mask = Agents::Mask.new(ports.values, messages: calls.messages)
  [name, { caller: mask.call(calls.results), agent: mask.call(seen) }]
end
versions = Gem.loaded_specs.transform_values { |spec| spec.version.to_s }
out.puts JSON.generate(cases: cases, versions: versions.merge("net-http" => Net::HTTP::VERSION))
out.flush
exit! 0 # skips the threads and exit hooks of agents, which would call their services
