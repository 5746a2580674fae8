# frozen_string_literal: true

# Measures the client, one call at a time, compared with other clients; `rake bench:client` runs it.
# support/benchmark_options.rb lists its options.

require_relative "support/program"
%w[one_at_a_time objects listeners cache_hits fresh_tls threads download footprint].each do |group|
  require_relative "figures/#{group}"
end

Bench::Peer.load_all
groups = {
  "plain" => Bench::Figures::OneAtATime.new(:plain),
  "tls" => Bench::Figures::OneAtATime.new(:tls),
  "objects" => Bench::Figures::Objects.new,
  "listeners" => Bench::Figures::Listeners.new,
  "cache_hits" => Bench::Figures::CacheHits.new,
  "fresh_tls" => Bench::Figures::FreshTLS.new,
  "threads" => Bench::Figures::Threads.new,
  "download" => Bench::Figures::Download.new,
  "footprint" => Bench::Figures::Footprint.new
}
Bench::Program.new("client", groups).run
