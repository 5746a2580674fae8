# frozen_string_literal: true

require "json"
require "rbconfig"
require "tempfile"
require_relative "bundle"
require_relative "processes"

module Bench
  # One peer in a process of its own, with its own gems. It is asked for one task at a time, and killed when an answer
  # does not come in time.
  class PeerProcess
    class Failed < StandardError; end

    WORKER = File.join(__dir__, "worker.rb")
    SECONDS_TO_ANSWER = 30

    attr_reader :peer

    # @param options [Hash] those of Peer.new
    def initialize(peer, pinned: true, **options)
      @peer = peer
      @errors = Tempfile.new("trunkline-peer-")
      commands, @commands = IO.pipe
      @replies, replies = IO.pipe
      file = Object.const_source_location(peer.name).first
      @pid = Processes.spawn(RbConfig.ruby, WORKER, file, peer.id, JSON.generate(options),
                             env: Bundle.for(peer).install.environment, core: (Processes::CLIENT_CORE if pinned),
                             in: commands, out: replies, err: @errors)
      [commands, replies].each(&:close)
    end

    def ask(task, limit: SECONDS_TO_ANSWER, **arguments)
      @commands.puts(JSON.generate(task: task, **arguments))
      reply = answer_within(limit)
      raise Failed, "#{reply[:error]}: #{reply[:message]}" if reply[:error]

      reply[:ok]
    rescue Errno::EPIPE
      fail_with("ended before it was asked")
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

    def answer_within(limit)
      fail_with("no answer within #{limit} s") unless @replies.wait_readable(limit)
      line = @replies.gets or fail_with("ended without an answer")
      JSON.parse(line, symbolize_names: true)
    end

    def fail_with(what)
      Processes.signal_group("KILL", @pid)
      last = File.read(@errors.path).lines.map(&:strip).grep(/Error|error|BUG|cannot/).first
      raise Failed, [what, last].compact.join(": ")[0, 300]
    end
  end
end
