# frozen_string_literal: true

require "etc"
require_relative "clock"

module Trunkline
  module Lab
    # The share of the CPU that was used by others during a measurement: the busy time of all cores, minus the CPU time
    # of this process and its children; and the share that a hypervisor took (steal). Both are unknown without /proc.
    class Noise
      FOREIGN_BAR = 0.10 # share of all cores
      SPREAD_BAR = 0.25  # half of the interval as a share of its value
      TICKS = Etc.sysconf(Etc::SC_CLK_TCK).to_f

      def initialize
        @started = snapshot
      end

      # @return [Float, nil] 0.0..1.0 of all cores, including the time taken by the hypervisor
      def foreign = share { |spent| spent[:busy] - spent[:lab_cpu] }

      # @return [Float, nil] 0.0..1.0 of all cores that the hypervisor gave to other guests
      def stolen = share { |spent| spent[:stolen] }

      private

      # @yield [spent] seconds since the start, by kind
      def share
        return unless @started && (now = snapshot)

        spent = now.to_h { |name, seconds| [name, seconds - @started[name]] }
        return 0.0 if spent[:wall] < 0.2 # the kernel counts in hundredths of a second, which is too coarse

        (yield(spent) / (spent[:wall] * Etc.nprocessors)).clamp(0.0, 1.0)
      end

      def snapshot
        user, nice, system, _idle, _wait, irq, softirq, steal = File.foreach("/proc/stat").first.split.drop(1)
        busy = [user, nice, system, irq, softirq, steal].sum(&:to_f) / TICKS
        { wall: Clock.now, busy: busy, lab_cpu: lab_cpu, stolen: steal.to_f / TICKS }
      rescue SystemCallError, NoMethodError
        nil
      end

      # CPU seconds of this process, its living descendants, and their children that have been waited for.
      def lab_cpu
        processes = Dir["/proc/[0-9]*/stat"].filter_map { |file| read(file) }
        children = processes.group_by { |process| process[:parent] }
        family = processes.select { |process| process[:pid] == Process.pid }
        family.each { |process| family.concat(children.fetch(process[:pid], [])) }
        family.sum { |process| process[:cpu] }
      end

      def read(file)
        pid, rest = File.read(file).match(/\A(\d+) \(.*\) (.*)/m).captures
        fields = rest.split
        { pid: pid.to_i, parent: fields[1].to_i, cpu: fields[11, 4].sum(&:to_f) / TICKS }
      rescue SystemCallError
        nil
      end
    end
  end
end
