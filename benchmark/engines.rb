# frozen_string_literal: true

# Measures the engine in Ruby, compared with other clients and with the engine in C; `rake bench:engines` runs it.
# support/benchmark_options.rb lists its options.

require_relative "support/program"
require_relative "figures/engines"

Bench::Peer.load_all
groups = {
  "one" => Bench::Figures::Engines.new(nil, %w[net_http_persistent], { "net-http-persistent" => [1.0] }),
  "many" => Bench::Figures::Engines.new(50, %w[typhoeus typhoeus_1_4], { Bench::Comparison::FASTER_TYPHOEUS => [3.0] })
}
Bench::Program.new("engines", groups).run
