# frozen_string_literal: true

module Trunkline
  module Lab
    # Monotonic time, and CPU time.
    module Clock
      module_function

      # @return [Float] seconds
      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # @return [Float] CPU seconds of this process, all its threads; on JRuby in steps of 10 ms
      def cpu
        return Process.times.then { |times| times.utime + times.stime } if RUBY_ENGINE == "jruby"

        Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      end

      # Measures a block that returns how many requests it made.
      # @return [Hash] requests, and wall, cpu, user and sys in seconds
      def measure
        times = Process.times
        cpu_before = cpu
        started = now
        requests = yield
        wall = now - started
        spent = Process.times
        { requests: requests, wall: wall, cpu: cpu - cpu_before,
          user: spent.utime - times.utime, sys: spent.stime - times.stime }
      end
    end
  end
end
