# frozen_string_literal: true

require "json"
require "rbconfig"
require "tempfile"
require_relative "bundle"
require_relative "peer"
require_relative "processes"
require_relative "tasks"

module Trunkline
  module Lab
    # One peer in a separate process with its gems. The process runs one task at a time, and is killed when it does not
    # answer in time.
    class PeerProcess
      # Raised when the peer could not perform a task.
      class Failed < StandardError; end

      # The Ruby that runs the lab, with the gems of a bundle.
      CurrentRuby = Struct.new(:bundle) do
        def command = [RbConfig.ruby]
        def environment = bundle.environment
      end
      private_constant :CurrentRuby

      WORKER = File.join(__dir__, "worker.rb")
      LIBRARY = File.expand_path("../..", __dir__)
      SECONDS_TO_ANSWER = 60

      class << self
        # @param peer [Class] a Peer
        # @param options [Hash] options of #initialize and of Peer.new
        # @return [PeerProcess] to be stopped by the caller
        # @raise [Bundle::Failed]
        def of(peer, tasks: Tasks, **options)
          new(tasks, peer.file, gems: peer.gems, folder: peer.bundle, local_gems: peer.local_gems,
                                runtime: peer.runtime, **options)
        end

        # @yield [process] which is stopped in any case
        def open(peer, **options)
          process = of(peer, **options)
          yield process
        ensure
          process&.stop
        end

        # @param options [Hash] for the tasks
        # @param streams [Hash] options of Process.spawn
        # @return [Integer] the worker's pid
        # @raise [Bundle::Failed]
        def spawn(tasks, subject, gems:, folder:, local_gems:, options:, runtime: nil, core: nil, preload: false,
                  **streams)
          paths = [LIBRARY, *Bundle.load_paths(*local_gems)].flat_map { |path| ["-I", path] }
          runtime ||= CurrentRuby.new(Bundle.new(folder, gems))
          Processes.spawn(*runtime.command, *paths, WORKER, Object.const_source_location(tasks.name).first,
                          tasks.name, subject, JSON.generate(options, ascii_only: true), *("preload" if preload),
                          env: runtime.environment, core: core, **streams)
        end
      end

      # @param tasks [Class] the tasks that the worker can run; created there by .of(subject, **options)
      # @param folder [String] name of the folder for its gems
      # @param local_gems [Array<String>] gems of this process that the worker needs, used from where they are loaded
      # @param runtime [#command, #environment, nil] another Ruby (Peer.runtime)
      # @param core [Integer, nil] the core to which the process is bound; nil: none
      def initialize(tasks, subject, gems:, folder:, local_gems: [], runtime: nil, core: Processes::CLIENT_CORE,
                     **options)
        with_pipes do |commands, replies|
          PeerProcess.spawn(tasks, subject, gems: gems, folder: folder, local_gems: local_gems, options: options,
                                            runtime: runtime, core: core,
                                            in: commands, out: replies, err: @errors)
        end
      end

      def ask(task, limit: SECONDS_TO_ANSWER, **arguments)
        @commands.puts(JSON.generate({ task: task, **arguments }, ascii_only: true))
        read_reply(limit)
      rescue Errno::EPIPE
        fail_with("ended before its first task")
      end

      # Ends the current task after an interrupt: the worker begins no more calls.
      # @return [Hash] result of the task up to then
      def interrupt_task(limit)
        Processes.signal_group("INT", @pid)
        read_reply(limit)
      end

      def stop
        return unless @pid

        @commands.close unless @commands.closed?
        Processes.stop(@pid)
        @pid = nil
      ensure
        @replies.close unless @replies.closed?
        @errors.close!
      end

      private

      # @yield [commands, replies] the worker's ends of the pipes; the block returns its pid
      def with_pipes
        @errors = Tempfile.new("trunkline-peer-")
        commands, @commands = IO.pipe
        @replies, replies = IO.pipe
        @pid = yield commands, replies
      ensure
        [commands, replies].each(&:close)
      end

      def read_reply(limit)
        fail_with("no reply within #{limit} s") unless @replies.wait_readable(limit)
        line = @replies.gets or fail_with("ended without a reply")
        reply = JSON.parse(line, symbolize_names: true)
        raise Failed, "#{reply[:error]}: #{reply[:message]}" if reply[:error]

        reply[:ok]
      end

      def fail_with(what)
        Processes.signal_group("KILL", @pid)
        last = File.read(@errors.path).scrub.lines.map(&:strip).grep(/Error|error|BUG|cannot/).first
        raise Failed, [what, last].compact.join(": ")[0, 300]
      end
    end
  end
end
