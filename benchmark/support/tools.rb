# frozen_string_literal: true

require_relative "lab"

module Bench
  # The programs that are measured in addition to the Ruby clients.
  module Tools
    Failed = Limits::Failed
  end

  # The curl tool, for a large body.
  class CurlTool
    def self.missing = ("the curl tool is not installed" unless Processes.available?("curl"))

    SECONDS = "%{time_total}" # rubocop:disable Style/FormatStringToken -- curl's format, not Ruby's

    def initialize(ca_file:, http2: false)
      @ca_file = ca_file
      @version = http2 ? "--http2" : "--http1.1"
    end

    # The command prints the seconds that the download took.
    def command(url)
      ["curl", "--silent", "--show-error", "--cacert", @ca_file, @version, "--output", File::NULL,
       "--write-out", SECONDS, url]
    end
  end
end
