# frozen_string_literal: true

%w[bundle cache clock limits peer_process processes statistics].each { |part| require "trunkline/lab/#{part}" }

# The figures of `rake bench:...`, their bars, and their reports.
module Bench
  Lab = Trunkline::Lab

  # Classes of the lab that the benchmarks use unchanged.
  Bundle = Lab::Bundle
  Cache = Lab::Cache
  Clock = Lab::Clock
  Limits = Lab::Limits
  Processes = Lab::Processes
  Statistics = Lab::Statistics

  # A benchmark downloads the gems of all peers.
  Bundle.download = true
end
