# frozen_string_literal: true

require "bundler"

namespace :bench do
  {
    real: "Compare GETs of distinct URLs and POSTs of JSON with libcurl, Net::HTTP and Faraday (about seven " \
          "minutes; BENCH_REPEATS, BENCH_SECONDS, BENCH_REQUESTS, BENCH_ONLY and BENCH_PEERS shorten it)",
    client: "Compare the client with other clients, one call at a time (about ten minutes)",
    batch: "Compare concurrent requests with other clients (about eight minutes)",
    facades: "Compare each facade with the library that it replaces (about two minutes)",
    reach: "Compare HTTP/2, fibers, proxies, and calls beside a computing thread (about five minutes)",
    bulk: "Compare bulk runs of a million distinct URLs with client.each (about six minutes)",
    engines: "Compare the engine in Ruby with other clients and the engine in C (about a minute)",
    jruby: "Compare the engine in Ruby on JRuby with MRI, manticore and Net::HTTP (about twenty minutes; needs Java)",
    streams: "Compare downloads, events, streamed JSON and model streams with other tools (about three minutes)"
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
