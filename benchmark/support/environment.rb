# frozen_string_literal: true

require "openssl"
require "trunkline/lab/environment"
require "trunkline/lab/noise"
require_relative "origin"

module Bench
  # The conditions on which a figure depends: the machine, its load, and the version of each program and library
  # measured.
  module Environment
    BUSY = 0.3 # runnable processes other than the benchmark's

    module_function

    def before = Lab::Environment.before.slice(:date, :commit, :machine, :load_before)

    # @param noise [Lab::Noise] measured over the whole run
    def after(environment, noise:, options:, gems:)
      others = { foreign_cpu: noise.foreign, stolen_cpu: noise.stolen }.compact.transform_values { |cpu| cpu.round(3) }
      environment.merge(load_after: Lab::Environment.load, **others, versions: versions, clients: gems,
                        settings: options.to_h.compact, busy_before: environment[:load_before].first > BUSY)
    end

    # @return [String] how busy the machine was, for people
    def busy(environment)
      shares = { foreign_cpu: "other programs", stolen_cpu: "the host" }.filter_map do |name, who|
        "#{(environment[name] * 100).round} % to #{who}" if environment[name]
      end
      load = environment.values_at(:load_before, :load_after).map(&:first)
      ["load #{load.join(" before, ")} after", ("of the CPU #{shares.join(" and ")}" if shares.any?)].compact.join("; ")
    end

    def versions
      curl = `curl --version 2>/dev/null`.lines.first.to_s
      { ruby: RUBY_DESCRIPTION, openssl: OpenSSL::OPENSSL_LIBRARY_VERSION, libcurl: curl[%r{libcurl/(\S+)}, 1],
        nginx: Origin.version&.delete_prefix("nginx/"), wrk: `wrk --version 2>&1`[/wrk \S*?([\d.]+)/, 1] }.compact
    end
  end
end
