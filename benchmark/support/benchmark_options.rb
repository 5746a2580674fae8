# frozen_string_literal: true

require_relative "lab"

module Bench
  # How much is measured. The defaults make the figures that may be published; smaller values are for a quick check.
  #   BENCH_REPEATS   samples of each pair (7)
  #   BENCH_SECONDS   length of one sample (0.5)
  #   BENCH_REQUESTS  calls of the memory figure (1,000,000)
  #   BENCH_ONLY      figures to measure, by the names of the files in figures/ ("plain,download")
  #   BENCH_PEERS     clients to compare with, by the names of the files in peers/ ("net_http,typhoeus", "none")
  #   BENCH_EARLIER   the commit of this repository that bench:real builds and compares with (cc87a94)
  BenchmarkOptions = Struct.new(:repeats, :seconds, :requests, :only, :peers, :earlier, keyword_init: true) do
    def self.from_environment
      new(repeats: Integer(ENV.fetch("BENCH_REPEATS", 7)), seconds: Float(ENV.fetch("BENCH_SECONDS", 0.5)),
          requests: Integer(ENV.fetch("BENCH_REQUESTS", 1_000_000)), only: ENV["BENCH_ONLY"]&.split(","),
          peers: ENV["BENCH_PEERS"]&.split(","), earlier: ENV.fetch("BENCH_EARLIER", "cc87a94"))
    end

    def complete? = repeats >= 7 && seconds >= 0.5 && requests >= 1_000_000 && only.nil? && peers.nil?

    # The results of a quick check must not replace published ones.
    def results_folder = complete? ? File.expand_path("../results", __dir__) : Cache.directory("quick")
  end
end
