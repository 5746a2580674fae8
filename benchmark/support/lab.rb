# frozen_string_literal: true

%w[bundle cache clock limits peer_process processes statistics].each { |part| require "trunkline/lab/#{part}" }

# The figures of `rake bench:...`, what must hold of them, and how they are reported.
module Bench
  Lab = Trunkline::Lab

  # What the benchmarks take from the lab as it is.
  Bundle = Lab::Bundle
  Cache = Lab::Cache
  Clock = Lab::Clock
  Limits = Lab::Limits
  Processes = Lab::Processes
  Statistics = Lab::Statistics

  # A benchmark downloads the gems of all peers.
  Bundle.download = true
end
