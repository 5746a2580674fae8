# frozen_string_literal: true

# Measures HTTP/2, fibers, proxies, and calls while another thread computes; `rake bench:reach` runs it.
# support/benchmark_options.rb lists its options.

require_relative "support/program"
%w[streams single download fibers proxy].each { |group| require_relative "figures/reach_#{group}" }

require_relative "figures/beside_computing"

Bench::Peer.load_all
Bench::Peer.load_all("reach")
groups = {
  "streams" => Bench::Figures::ReachStreams.new,
  "single" => Bench::Figures::ReachSingle.new,
  "download" => Bench::Figures::ReachDownload.new,
  "fibers" => Bench::Figures::ReachFibers.new,
  "proxy" => Bench::Figures::ReachProxy.new,
  "computing" => Bench::Figures::BesideComputing.new
}
Bench::Program.new("reach", groups).run
