# frozen_string_literal: true

require "fileutils"

module Bench
  # Where what was installed or compiled for the benchmarks lies: outside the checkout, kept between runs.
  module Cache
    ROOT = ENV.fetch("TRUNKLINE_BENCH_CACHE") do
      File.join(ENV.fetch("XDG_CACHE_HOME") { File.join(Dir.home, ".cache") }, "trunkline-benchmark")
    end

    def self.directory(*names) = File.join(ROOT, *names).tap { |path| FileUtils.mkdir_p(path) }
  end
end
