# frozen_string_literal: true

require "bundler"

namespace :bench do
  {
    real: "Measure calls that are all different, and POSTs of JSON, beside libcurl, Net::HTTP and Faraday (about " \
          "five minutes; BENCH_REPEATS, BENCH_SECONDS, BENCH_REQUESTS, BENCH_ONLY and BENCH_PEERS make it quicker)",
    client: "Measure the client beside its peers (about ten minutes)",
    batch: "Measure many requests at once beside other clients (about five minutes)",
    facades: "Measure each facade beside the library that it replaces (about two minutes)",
    reach: "Measure HTTP/2, fibers, proxies, and calls beside a thread that computes (about five minutes)",
    bulk: "Measure bulk runs of a million URLs beside client.each (about six minutes)",
    engines: "Measure the engine in Ruby beside other clients and the engine in C (about a minute)",
    jruby: "Measure the engine in Ruby on JRuby beside MRI, manticore and Net::HTTP (a quarter of an hour; needs Java)",
    streams: "Measure downloads, events, JSON as it comes and model streams beside other tools (about ten minutes)"
  }.each do |name, description|
    desc description
    task(name => :compile) do
      Bundler.with_unbundled_env do
        sh("bundle", "exec", RbConfig.ruby, "benchmark/#{name}.rb") do |holds, status|
          exit(status.exitstatus || 1) unless holds
        end
      end
    end
  end
end
