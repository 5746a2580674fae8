# frozen_string_literal: true

# Measures bulk runs, compared with Client#each; `rake bench:bulk` runs it.
# support/benchmark_options.rb lists its options.

require_relative "support/program"
require_relative "figures/bulk_run"

Bench::Program.new("bulk", { "run" => Bench::Figures::BulkRun.new }).run
