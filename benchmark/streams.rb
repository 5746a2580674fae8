# frozen_string_literal: true

# Measures streams: files, events, and JSON parsed as it arrives; `rake bench:streams` runs it.
# support/benchmark_options.rb lists its options.

require_relative "support/program"
%w[download events json tokens].each { |figure| require_relative "figures/stream_#{figure}" }

groups = {
  "download" => Bench::Figures::StreamDownload.new,
  "events" => Bench::Figures::StreamEvents.new,
  "json" => Bench::Figures::StreamJSON.new,
  "tokens" => Bench::Figures::StreamTokens.new
}
Bench::Program.new("streams", groups).run
