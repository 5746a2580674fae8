# frozen_string_literal: true

# Measures streams: files, events, JSON as it comes; `rake bench:streams` runs it.
# support/settings.rb has its switches.

require_relative "support/program"
%w[download events json tokens].each { |figure| require_relative "figures/stream_#{figure}" }

groups = {
  "download" => Bench::Figures::StreamDownload.new,
  "events" => Bench::Figures::StreamEvents.new,
  "json" => Bench::Figures::StreamJSON.new,
  "tokens" => Bench::Figures::StreamTokens.new
}
Bench::Program.new("streams", groups).run
