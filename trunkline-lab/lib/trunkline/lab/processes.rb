# frozen_string_literal: true

require "etc"
require "tempfile"
require_relative "clock"

module Trunkline
  module Lab
    # Starts child processes so that none outlives this process: in a separate process group, so that Ctrl-C reaches
    # only this process, which stops them; killed by the kernel when this process dies; and on a separate core if there
    # are two.
    module Processes
      CLIENT_CORE = 0
      ORIGIN_CORE = 1

      module_function

      def spawn(*command, env: {}, core: nil, **options)
        Process.spawn(env, *guarded(command, core), pgroup: true, **options)
      end

      # Runs a program to its end. Ends it after `limit` seconds, or when this process is interrupted.
      # @return [Array(String, Process::Status)] its output (standard output and standard error), and its status
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

      # @return [Process::Status] of the process, which is killed after `limit` seconds
      def wait(pid, limit)
        deadline = Clock.now + limit
        until (ended = Process.wait2(pid, Process::WNOHANG))
          signal_group("KILL", pid) if Clock.now > deadline
          sleep 0.005
        end
        ended.last
      end

      # Waits for a server that was just spawned.
      # @yield checks the server; called until it raises no SystemCallError
      # @return [Boolean] false when the process has ended or did not answer within that time
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

      # @return [String, nil] path of the program
      def available?(program)
        folders = ENV.fetch("PATH").split(":").push("/usr/sbin", "/usr/local/sbin")
        folders.map { |folder| File.join(folder, program) }.find { |path| File.executable?(path) }
      end

      # @return [Process::Status] of the process, which is killed if it has not ended `patience` seconds after the
      #   signal
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
