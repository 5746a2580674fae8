# frozen_string_literal: true

require "openssl"
require "trunkline/lab/environment"
require_relative "origin"

module Bench
  # What a figure depends on: the machine, its load, and the version of everything that took part.
  module Environment
    BUSY = 0.3 # runnable processes beside ours

    module_function

    def before = Lab::Environment.before.slice(:date, :machine, :load_before)

    def after(environment, settings:, gems:)
      environment.merge(load_after: Lab::Environment.load, versions: versions, clients: gems,
                        settings: settings.to_h.compact, busy_before: environment[:load_before].first > BUSY)
    end

    def versions
      curl = `curl --version 2>/dev/null`.lines.first.to_s
      { ruby: RUBY_DESCRIPTION, openssl: OpenSSL::OPENSSL_LIBRARY_VERSION, libcurl: curl[%r{libcurl/(\S+)}, 1],
        nginx: Origin.version&.delete_prefix("nginx/"), wrk: `wrk --version 2>&1`[/wrk \S*?([\d.]+)/, 1] }.compact
    end
  end
end
