# frozen_string_literal: true

require "tmpdir"
require "fileutils"
require "io/nonblock"
require_relative "stop_at_exit"
require_relative "free_port"

# A server in a separate process and directory: it is started, waited for, and stopped.
class ChildServer
  class DidNotStart < StandardError; end

  START_LIMIT = 20.0

  # A guard process kills the server at the end of file of their pipe: when this process closes its end, or is killed.
  KILL_AT_PARENT_EXIT = "(cat <&3 > /dev/null; kill \"$$\") & exec \"$@\" 3<&-"

  # This process' ends of those pipes.
  PARENT_EXIT_PIPES = [] # rubocop:disable Style/MutableConstant -- a list that grows

  attr_reader :directory

  def initialize(name)
    @name = name
    @directory = Dir.mktmpdir("trunkline-#{name}-")
  end

  # Ports are chosen first and bound by the child a moment later, so another process may take one meanwhile: then
  # starting is tried again.
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

  # The server has a separate process group: a Ctrl-C meant for the tests must not end the server before the tests are
  # done with it.
  def launch(ports, command, environment = {})
    pipe_end, @parent_exit_pipe = IO.pipe
    pipe_end.nonblock = false # cat fails on a non-blocking pipe
    PARENT_EXIT_PIPES << @parent_exit_pipe
    @pid = Process.spawn(environment, "sh", "-c", KILL_AT_PARENT_EXIT, "sh", *command,
                         in: File::NULL, 3 => pipe_end, %i[out err] => [log_path, "w"], pgroup: true)
    pipe_end.close
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
    @parent_exit_pipe&.close
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
