# frozen_string_literal: true

require "etc"
require "tempfile"
require_relative "clock"

module Trunkline
  module Lab
    # Starts child processes so that none outlives us: in a group of their own, so that Ctrl-C reaches us alone and we
    # stop them; killed by the kernel when we die; and on a core of their own where there are two.
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
          pid = spawn(*command, out: output, err: output, in: File::NULL, **options)
          status = wait(pid, limit)
          pid = nil
          [File.read(output.path), status]
        ensure
          stop(pid) if pid
        end
      end

      # @return [Process::Status] after at most `limit` seconds, by then killed
      def wait(pid, limit)
        deadline = Clock.now + limit
        until (ended = Process.wait2(pid, Process::WNOHANG))
          signal_group("KILL", pid) if Clock.now > deadline
          sleep 0.005
        end
        ended.last
      end

      # Waits for a server that was just spawned.
      # @yield to be asked until it raises no SystemCallError any more
      # @return [Boolean] false: it has ended, or did not answer within so many seconds
      def answers?(pid, seconds)
        deadline = Clock.now + seconds
        begin
          yield
          true
        rescue SystemCallError
          return false if Clock.now > deadline || Process.wait(pid, Process::WNOHANG)

          sleep 0.02
          retry
        end
      end

      def guarded(command, core = nil)
        words = command
        words = ["setpriv", "--pdeathsig", "KILL", "--", *words] if available?("setpriv")
        words = ["taskset", "--cpu-list", core.to_s, *words] if core && pinning?
        words
      end

      def pinning? = Etc.nprocessors > 1 && !available?("taskset").nil?

      # @return [String, nil] its path
      def available?(program)
        folders = ENV.fetch("PATH").split(":").push("/usr/sbin", "/usr/local/sbin")
        folders.map { |folder| File.join(folder, program) }.find { |path| File.executable?(path) }
      end

      # @return [Process::Status] how it ended: by the polite signal, or killed after `patience` seconds
      def stop(pid, signal: "TERM", patience: 2)
        signal_group(signal, pid)
        wait(pid, patience)
      rescue Errno::ECHILD
        nil
      end

      def signal_group(signal, pid)
        Process.kill(signal, -pid)
      rescue Errno::ESRCH
        nil
      end
    end
  end
end
