# frozen_string_literal: true

# Runs one SDK in a separate process:
#
#   ruby program.rb <file of uses/> plain|installed|adapter http://127.0.0.1:8080 ca.pem
#
# installed: with NetHTTP.install!. adapter: with Trunkline as Faraday's default adapter. Prints the results of all
# calls, and the version of the gem, as JSON. The calls are made twice, so that connections can be reused.
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
# Activates only this gem's files, since two gems have a file openai.rb.
$LOAD_PATH.unshift(*Gem.loaded_specs[gem].full_require_paths) if Gem.loaded_specs[gem]

case mode
when "installed"
  require "trunkline/net_http"
  Trunkline::NetHTTP.install!
when "adapter"
  require "trunkline/faraday"
  Faraday.default_adapter = :trunkline
end

results = Array.new(2) { sdk.new(url, ca_file).tap(&:call).results }
versions = Gem.loaded_specs.transform_values { |spec| spec.version.to_s }
out.puts JSON.generate(results: results, version: sdk.about.forced || versions[gem] || sdk.about.version)
