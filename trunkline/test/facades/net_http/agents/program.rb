# frozen_string_literal: true

# One run, in a process of its own: an agent beside Net::HTTP, with or without install!, in one of two orders.
#
#   ruby program.rb <agent's file> plain|agent_first|install_first '{"get": 8080, ...}' ca.pem
#
# LEVEL in the environment says what it watches: net_http, or faraday, where our adapter takes the part of install!.
# Prints what the caller got and what the agent saw, for each case, and the versions of the gems, as JSON. The agent's
# file defines Watched.watch, which yields and returns what the agent saw meanwhile.
require "json"
require "net/http"
require_relative "calls"
require_relative "faraday_calls" if ENV["LEVEL"] == "faraday"
require_relative "mask"

agent, order, ports, ca_file = ARGV
ports = JSON.parse(ports, symbolize_names: true)
$stdout.sync = true
out = $stdout.dup
$stdout.reopen($stderr) # what agents print is no part of the report

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
exit! 0 # agents have threads and exit hooks that would talk to their services
