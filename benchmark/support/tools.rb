# frozen_string_literal: true

require "json"
require_relative "cache"
require_relative "processes"

module Bench
  # The programs beside the Ruby clients: each one is run once per sample and answers like a worker's task.
  module Tools
    class Failed < StandardError; end

    SOURCE = File.expand_path("../bare_curl.c", __dir__)

    module_function

    def run(*command, core: Processes::CLIENT_CORE)
      output, status = Processes.run(*command, core: core)
      raise Failed, "#{command.first}: #{output.lines.last}" unless status.success?

      output
    end

    # Compiles the bare program when it is missing or older than its source.
    def bare_curl
      program = File.join(Cache.directory("bin"), "bare_curl")
      unless File.exist?(program) && File.mtime(program) > File.mtime(SOURCE)
        run(ENV.fetch("CC", "cc"), "-std=gnu99", "-O2", "-o", program, SOURCE, "-lcurl", core: nil)
      end
      program
    end
  end

  # A bare libcurl program: one easy handle, reused, or many in a multi handle.
  class BareCurl
    def label = "bare libcurl program"

    def initialize(ca_file: nil)
      @program = Tools.bare_curl
      @trust = ca_file ? ["--cacert", ca_file] : []
    end

    def body_digest(url) = Digest::SHA256.hexdigest(Tools.run(@program, *@trust, "show", url))

    # @param at_once [Integer, nil] in a multi handle; nil: one after the other
    def for_seconds(url, seconds, at_once: nil)
      return sample("--seconds", seconds.to_s, "serial", url) unless at_once

      sample("--seconds", seconds.to_s, "--concurrency", at_once.to_s, "multi", url)
    end

    # Each request on a new connection.
    def fresh(url, count) = sample("--fresh", "--requests", count.to_s, "serial", url)

    private

    def sample(*arguments)
      taken = JSON.parse(Tools.run(@program, *@trust, *arguments), symbolize_names: true)
      taken.merge(cpu: taken[:user] + taken[:sys])
    end
  end

  # wrk with one thread. Its shortest run is one second.
  class Wrk
    def self.missing = ("wrk is not installed (bin/setup installs it)" unless Processes.available?("wrk"))

    def label = "wrk"

    def for_seconds(url, seconds, at_once: 1)
      before = Process.times
      output = Tools.run("wrk", "--threads", "1", "--connections", at_once.to_s, "--duration", seconds.ceil.to_s, url)
      raise Tools::Failed, "wrk: answers that are not 200" if output.include?("Non-2xx")

      after = Process.times
      requests, wall = output.match(/(\d+) requests in ([\d.]+)s/).captures
      { requests: requests.to_i, wall: wall.to_f, user: after.cutime - before.cutime, sys: after.cstime - before.cstime,
        cpu: after.cutime - before.cutime + after.cstime - before.cstime }
    end
  end

  # The curl tool, for a large body.
  class CurlTool
    def self.missing = ("the curl tool is not installed" unless Processes.available?("curl"))

    SECONDS = "%{time_total}" # rubocop:disable Style/FormatStringToken -- curl's format, not Ruby's

    def initialize(ca_file:) = @ca_file = ca_file

    # Prints the seconds that the download took.
    def command(url)
      ["curl", "--silent", "--show-error", "--cacert", @ca_file, "--http1.1", "--output", File::NULL,
       "--write-out", SECONDS, url]
    end
  end
end
