# frozen_string_literal: true

require "securerandom"

module Trunkline
  class Bulk
    class State
      # Names of workers on one machine, and its clock. Leases are counted by a clock that nobody sets, the same in all
      # processes, so that a change of the time of day ends none; a worker whose process is gone needs no lease to end.
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
        # @return [Boolean] whether its process cannot work any more
        def gone?(name)
          boot, pid, start = name.split("/")
          return true if boot != BOOT
          return started(pid.to_i) != start.to_s unless start.to_s.empty?

          Process.getpgid(pid.to_i) && false
        rescue Errno::ESRCH
          true
        end

        # @return [String] when the process started, so that another with the same number is told from it; "" where that
        #   cannot be known
        def started(pid)
          File.read("/proc/#{pid}/stat")[/\) (.*)/, 1].split[19]
        rescue Errno::ENOENT, Errno::ESRCH, Errno::EACCES, NoMethodError
          ""
        end
      end
    end
  end
end
