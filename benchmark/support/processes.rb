# frozen_string_literal: true

require "etc"
require "tempfile"

module Bench
  # How child processes are started, so that none outlives us: in a group of their own (Ctrl-C reaches us alone, and
  # we stop them), killed by the kernel when we die without a chance to, and on a core of their own where there are two.
  module Processes
    CLIENT_CORE = 0
    ORIGIN_CORE = 1

    module_function

    def spawn(*command, env: {}, core: nil, **options)
      Process.spawn(env, *guarded(command, core), pgroup: true, **options)
    end

    # Runs a program to its end, or ends it: after `limit` seconds, or when we are interrupted.
    # @return [Array(String, Process::Status)] what it printed, on both outputs
    def run(*command, limit: 60, **options)
      Tempfile.create("trunkline-output-") do |output|
        pid = spawn("timeout", limit.to_s, *command, out: output, err: output, **options)
        status = Process.wait2(pid).last
        pid = nil
        [File.read(output.path), status]
      ensure
        stop(pid) if pid
      end
    end

    def guarded(command, core = nil)
      words = command
      words = ["setpriv", "--pdeathsig", "KILL", "--", *words] if available?("setpriv")
      words = ["taskset", "--cpu-list", core.to_s, *words] if core && pinning?
      words
    end

    def pinning? = Etc.nprocessors > 1 && available?("taskset")

    def available?(program)
      ENV.fetch("PATH").split(":").push("/usr/sbin").any? { |folder| File.executable?(File.join(folder, program)) }
    end

    # @return [Process::Status] how it ended: by the polite signal, or killed after `patience` seconds
    def stop(pid, signal: "TERM", patience: 2)
      signal_group(signal, pid)
      deadline = Clock.now + patience
      until (status = Process.wait2(pid, Process::WNOHANG))
        signal_group("KILL", pid) if Clock.now > deadline
        sleep 0.005
      end
      status.last
    rescue Errno::ECHILD
      nil
    end

    def signal_group(signal, pid)
      Process.kill(signal, -pid)
    rescue Errno::ESRCH
      nil
    end
  end

  module Clock
    module_function

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # CPU seconds of this process, all its threads.
    def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  end
end
