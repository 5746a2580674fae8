# frozen_string_literal: true

# One run of an SDK, in a process of its own:
#
#   ruby program.rb <file of uses/> plain|installed|adapter http://127.0.0.1:8080 ca.pem
#
# installed: with NetHTTP.install!. adapter: with Trunkline as Faraday's default adapter. Prints what every call came
# to, and the version of the gem, as JSON. The calls are made twice, so that connections can be used again.
require "json"
require "logger"
require "set"
require "stringio"
require "tempfile"
require_relative "sdk"

file, mode, url, ca_file = ARGV
out = $stdout.dup
$stdout.reopen($stderr)

require_relative "uses/#{file}"
sdk = SDK.named(file)
gem = sdk.about.gem
$LOAD_PATH.unshift(ENV.fetch("FORCED")) if sdk.about.forced
# Two gems have a file openai.rb.
$LOAD_PATH.unshift(*Gem.loaded_specs[gem].full_require_paths) if Gem.loaded_specs[gem]

case mode
when "installed"
  require "trunkline/net_http"
  Trunkline::NetHTTP.install!
when "adapter"
  require "trunkline/faraday"
  Faraday.default_adapter = :trunkline
end

told = Array.new(2) { sdk.new(url, ca_file).tap(&:call).told }
versions = Gem.loaded_specs.transform_values { |spec| spec.version.to_s }
out.puts JSON.generate(told: told, version: sdk.about.forced || versions[gem] || sdk.about.version)
