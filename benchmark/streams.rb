# frozen_string_literal: true

# Measures streams: files, events, JSON as it comes; `rake bench:streams` runs it.
# support/settings.rb has its switches.

require_relative "support/program"
require_relative "figures/stream_download"

groups = {
  "download" => Bench::Figures::StreamDownload.new
}
Bench::Program.new("streams", groups).run
