# frozen_string_literal: true

require "etc"
require "json"
require "open3"
require "openssl"
require_relative "origins/nginx"
require_relative "processes"
require_relative "version"

module Trunkline
  module Lab
    # The conditions of a measurement: the machine, its load, and the versions of everything involved.
    module Environment
      ROOT = File.expand_path("../../../..", __dir__) # of the checkout; an installed gem is not in one
      # Files of the checkout whose changes do not change what is measured.
      UNMEASURED = %w[*.md benchmark/results docs site].map { |path| ":(exclude)#{path}" }.freeze
      GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"

      module_function

      # @return [Hash] without load_after, which .after adds
      def before
        { date: Time.now.utc.strftime("%Y-%m-%d %H:%M UTC"), commit: commit, machine: machine, versions: versions,
          load_before: load, clients: {} }
      end

      def after(environment, clients)
        environment.merge(load_after: load, clients: clients.transform_keys(&:to_s))
      end

      # @param root [String] folder of the checkout
      # @return [String, nil] the commit of the checkout, such as "88d9a9b5", or "88d9a9b5+changes" with uncommitted
      #   changes; nil outside of a checkout and without git
      def commit(root = ROOT)
        return unless File.exist?(File.join(root, ".git"))

        short = git(root, "rev-parse", "--short", "HEAD") or return
        changes = git(root, "status", "--porcelain", "--", ".", *UNMEASURED)
        changes.to_s.empty? ? short : "#{short}+changes"
      rescue SystemCallError
        nil # git is not installed
      end

      # Without optional locks, so that git writes no index.
      # @return [String, nil] nil when the command fails
      def git(root, *command)
        output, status = Open3.capture2("git", "--no-optional-locks", "-C", root, *command, err: File::NULL)
        output.chomp if status.success?
      end

      def machine
        { cpu: cpu, cores: Etc.nprocessors, governor: governor, pinned: Processes.pinning?,
          kernel: Etc.uname.values_at(:sysname, :release, :machine).join(" ") }.compact
      end

      def cpu
        File.foreach("/proc/cpuinfo").grep(/model name/).first.to_s[/: (.*)/, 1] || RbConfig::CONFIG["host_cpu"]
      rescue SystemCallError
        RbConfig::CONFIG["host_cpu"]
      end

      def governor
        File.read(GOVERNOR).chomp
      rescue SystemCallError
        nil
      end

      # @return [Array<Float>] the load averages of 1, 5 and 15 minutes; empty where there is no /proc
      def load
        File.read("/proc/loadavg").split.first(3).map(&:to_f)
      rescue SystemCallError
        []
      end

      def versions
        { lab: VERSION, trunkline: Trunkline::VERSION, ruby: RUBY_DESCRIPTION,
          openssl: OpenSSL::OPENSSL_LIBRARY_VERSION, nginx: Origins::Nginx.version }.compact
      end

      # @return [String] two lines for the user
      def sentence(environment)
        machine = environment[:machine]
        loads = [environment[:load_before]&.first, environment[:load_after]&.first].compact.join(" before, ")
        clients = environment[:clients].values.uniq
        lines = ["#{environment[:date]}; #{machine[:cores]} cores of #{machine[:cpu]}; #{machine[:kernel]}; " \
                 "load #{loads} after"]
        commit = ["commit #{environment[:commit]}"] if environment[:commit]
        versions = environment[:versions].map { |name, version| "#{name} #{version}" }
        lines << [*versions, *commit].join("; ")
        lines << "clients: #{clients.join(", ")}" if clients.any?
        lines.join("\n")
      end
    end
  end
end
