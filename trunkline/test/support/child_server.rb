# frozen_string_literal: true

require "tmpdir"
require "fileutils"
require "io/nonblock"
require_relative "stop_at_exit"
require_relative "free_port"

# A server in a process of its own, with a directory of its own: started, waited for, stopped.
class ChildServer
  class DidNotStart < StandardError; end

  START_LIMIT = 20.0

  # A guard beside the server ends it when their pipe ends: closed by us, or by the kernel when this process was killed.
  GUARDED = "(cat <&3 > /dev/null; kill \"$$\") & exec \"$@\" 3<&-"

  # Our ends of those pipes.
  LIFELINES = [] # rubocop:disable Style/MutableConstant -- a list that grows

  attr_reader :directory

  def initialize(name)
    @name = name
    @directory = Dir.mktmpdir("trunkline-#{name}-")
  end

  # Several ports are taken first and bound by the child a moment later, so another process can be faster: try again.
  def start
    attempts = 0
    begin
      attempts += 1
      launch(*yield)
    rescue DidNotStart
      retry if attempts < 3
      stop
      raise
    end
    StopAtExit.register(self)
  end

  def stop
    end_process
    FileUtils.remove_entry(directory) if File.directory?(directory)
  end

  def log = File.exist?(log_path) ? File.read(log_path) : ""

  private

  def log_path = File.join(directory, "output.log")

  # Its own process group: a Ctrl-C meant for the tests must not end the server before the tests are done with it.
  def launch(ports, command, environment = {})
    guarded, @lifeline = IO.pipe
    guarded.nonblock = false # cat cannot wait for what says "try again"
    LIFELINES << @lifeline
    @pid = Process.spawn(environment, "sh", "-c", GUARDED, "sh", *command,
                         in: File::NULL, 3 => guarded, %i[out err] => [log_path, "w"], pgroup: true)
    guarded.close
    limit = now + START_LIMIT
    until ports.all? { |port| FreePort.open?(port) }
      raise DidNotStart, "#{@name} ended:\n#{log}" if ended?
      raise DidNotStart, "#{@name} did not listen within #{START_LIMIT} s:\n#{log}" if now > limit

      sleep 0.02
    end
  rescue DidNotStart
    end_process
    raise
  end

  def ended?
    return false unless Process.wait(@pid, Process::WNOHANG)

    @pid = nil
    true
  end

  def end_process
    @lifeline&.close
    return unless @pid

    limit = now + 3.0
    sleep 0.01 until (gone = ended?) || now > limit
    return if gone

    Process.kill(:KILL, @pid)
    Process.wait(@pid)
  rescue Errno::ESRCH, Errno::ECHILD
    @pid = nil
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
