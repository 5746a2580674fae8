# frozen_string_literal: true

require "securerandom"

module Trunkline
  class Bulk
    class State
      # Names of workers on one machine, and the clock of their leases. The clock cannot be set and is the same in all
      # processes, so that a change of the time of day ends no lease. A worker whose process has ended loses its claims
      # before its lease ends.
      #
      # @api private
      module Workers
        CLOCK = Process.const_defined?(:CLOCK_BOOTTIME) ? Process::CLOCK_BOOTTIME : Process::CLOCK_MONOTONIC
        BOOT = (if File.exist?("/proc/sys/kernel/random/boot_id")
                  File.read("/proc/sys/kernel/random/boot_id").strip
                end).to_s

        module_function

        # @return [Float] seconds
        def now = Process.clock_gettime(CLOCK)

        # @return [String] a name for a worker of this process
        def name = [process, SecureRandom.alphanumeric(8)].join("/")

        # @return [String] a name for this process
        def process = [BOOT, Process.pid, started(Process.pid)].join("/")

        # @param name [String]
        # @return [Boolean] whether the worker's process has ended
        def process_ended?(name)
          boot, pid, start = name.split("/")
          return true if boot != BOOT
          return started(pid.to_i) != start.to_s unless start.to_s.empty?

          Process.getpgid(pid.to_i) && false
        rescue Errno::ESRCH
          true
        end

        # @return [String] when the process started, which distinguishes it from another with the same number; "" if not
        #   known
        def started(pid)
          File.read("/proc/#{pid}/stat")[/\) (.*)/, 1].split[19]
        rescue Errno::ENOENT, Errno::ESRCH, Errno::EACCES, NoMethodError
          ""
        end
      end
    end
  end
end
