# frozen_string_literal: true

# Measures many concurrent requests, compared with other clients that support them; `rake bench:batch` runs it.
# support/benchmark_options.rb lists its options.

require_relative "support/program"
%w[in_flight slow_origin queued reach_streams].each { |group| require_relative "figures/#{group}" }

Bench::Peer.load_all
figures = Bench::Figures
small = Bench::Origin::SMALL
medium = Bench::Origin::MEDIUM
all = [1, 10, 50, 200, 1000]

in_flight = ->(origin, path, **rest) { figures::InFlight.new(origin, path, urls: "distinct", **rest) }
reused = { ours: { reuse_bodies: true } }
repeated = { urls: "repeated", wrk: [1.6, 1.1] }
groups = {
  "small" => in_flight.call(:plain, small, curl: [1.1, 1.4], concurrency: all, beside_peers: 50),
  "small_repeated" => in_flight.call(:plain, small, curl: [1.4, 2], **repeated),
  "tls" => in_flight.call(:tls, small, curl: [1.2, 1.5], concurrency: all),
  "tls_repeated" => in_flight.call(:tls, small, curl: [1.5, 2], urls: "repeated"),
  "medium" => [in_flight.call(:plain, medium, curl: [1.2, 1.5], concurrency: all),
               in_flight.call(:without_nopush, medium, curl: [1.0, 1.2])],
  "medium_reused" => [in_flight.call(:plain, medium, curl: [1.2, 1.5], **reused),
                      in_flight.call(:without_nopush, medium, curl: [1.0, 1.2], **reused)],
  "http2" => figures::ReachStreams.new,
  "slow_origin" => figures::SlowOrigin.new,
  "queued" => figures::Queued.new
}
Bench::Program.new("batch", groups).run
