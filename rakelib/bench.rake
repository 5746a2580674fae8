# frozen_string_literal: true

require "bundler"

namespace :bench do
  desc "Measure the client beside its peers (about ten minutes; BENCH_REPEATS, BENCH_SECONDS, BENCH_REQUESTS, " \
       "BENCH_ONLY and BENCH_PEERS make it quicker)"
  task :client do
    Bundler.with_unbundled_env do
      sh(RbConfig.ruby, "benchmark/client.rb") { |holds, status| exit(status.exitstatus || 1) unless holds }
    end
  end
end
