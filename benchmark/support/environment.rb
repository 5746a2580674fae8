# frozen_string_literal: true

require "etc"
require "openssl"
require_relative "origin"
require_relative "processes"

module Bench
  # What a figure depends on: the machine, its load, and the version of everything that took part.
  module Environment
    BUSY = 0.3 # runnable processes beside ours

    module_function

    def before
      { date: Time.now.utc.strftime("%Y-%m-%d %H:%M UTC"), machine: machine, load_before: load }
    end

    def after(environment, settings:, gems:)
      environment.merge(load_after: load, versions: versions, clients: gems, settings: settings.to_h.compact,
                        busy_before: environment[:load_before].first > BUSY)
    end

    def machine
      { cpu: File.foreach("/proc/cpuinfo").grep(/model name/).first.to_s[/: (.*)/, 1], cores: Etc.nprocessors,
        kernel: Etc.uname.values_at(:sysname, :release, :machine).join(" "), pinned: Processes.pinning? }
    end

    def load = File.read("/proc/loadavg").split.first(3).map(&:to_f)

    def versions
      curl = `curl --version 2>/dev/null`.lines.first.to_s
      { ruby: RUBY_DESCRIPTION, openssl: OpenSSL::OPENSSL_LIBRARY_VERSION, libcurl: curl[%r{libcurl/(\S+)}, 1],
        nginx: Origin.version&.delete_prefix("nginx/"), wrk: `wrk --version 2>&1`[/wrk \S*?([\d.]+)/, 1] }.compact
    end
  end
end
