# frozen_string_literal: true

# The sweep of the article, which compares MRI with JRuby; `rake bench:jruby` runs it and keeps results/jruby.*.
# BENCH_REQUESTS, BENCH_REPEATS or fewer clients (--client trunkline,trunkline_on_jruby,manticore) make it quicker; then
# its results are not kept.

require_relative "support/lab"
require_relative "support/jruby_sweep"

complete = ARGV.empty? && %w[BENCH_REQUESTS BENCH_REPEATS].none? { |name| ENV.key?(name) }
folder = complete ? File.expand_path("results", __dir__) : Bench::Cache.directory("quick")
exit Bench::JRubySweep.all(folder, Integer(ENV.fetch("BENCH_REQUESTS", 10_000)), Integer(ENV.fetch("BENCH_REPEATS", 9)),
                           ARGV)
