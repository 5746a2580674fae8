# frozen_string_literal: true

# Measures many requests at once beside others that can; `rake bench:batch` runs it. support/settings.rb has its
# switches.

require_relative "support/program"
%w[in_flight slow_origin queued reach_streams].each { |group| require_relative "figures/#{group}" }

Bench::Peer.load_all
groups = {
  "small" => Bench::Figures::InFlight.new(:plain, Bench::Origin::SMALL, beside_peers: 50),
  "medium" => Bench::Figures::InFlight.new(:plain, Bench::Origin::MEDIUM),
  "medium_reused" => Bench::Figures::InFlight.new(:plain, Bench::Origin::MEDIUM, reuse: true),
  "tls" => Bench::Figures::InFlight.new(:tls, Bench::Origin::SMALL),
  "http2" => Bench::Figures::ReachStreams.new,
  "slow_origin" => Bench::Figures::SlowOrigin.new,
  "queued" => Bench::Figures::Queued.new
}
Bench::Program.new("batch", groups).run
