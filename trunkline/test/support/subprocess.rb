# frozen_string_literal: true

require "open3"
require "rbconfig"

# Ruby programs of their own, for what a test process cannot do to itself: exit, Ctrl-C, SIGPIPE, environment.
module Subprocess
  LIB = File.expand_path("../../lib", __dir__)
  SUPPORT = __dir__
  PRELUDE = "require \"trunkline\"; $stdout.sync = true\n"

  # What Ctrl-C does: JRuby, which ends the process by it, is asked to do as CRuby does by itself.
  CTRL_C = RUBY_ENGINE == "jruby" ? "trap(:INT) { raise Interrupt }\n" : ""

  # Seconds after which a program is taken to hang: far more than any takes on a slow machine.
  LIMIT = 180

  # What ASan (rake sanitize) says once of a process that has fibers.
  ASAN_NOTE = /^==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return.*\nFalse positive.*\nFor details.*\n/

  Result = Struct.new(:out, :err, :status)

  module_function

  # @return [Integer, nil] the signal that ended the program; Java tells it as shells do
  def signal_of(status)
    return status.termsig unless RUBY_ENGINE == "jruby"

    status.exitstatus - 128 if status.exited? && status.exitstatus > 128
  end

  def command(code) = [RbConfig.ruby, "-w", "-I", LIB, "-I", SUPPORT, "-e", PRELUDE + code]

  def run(code, environment = {})
    out, err, status = run_command(environment, command(code))
    Result.new(out, err.sub(ASAN_NOTE, ""), status)
  end

  # Starts the program, waits for a line on its output, then yields its pid.
  def interact(code, environment = {})
    Open3.popen3(environment, *command(code)) do |input, out, err, waiter|
      input.close
      first = out.gets
      yield waiter.pid, first
      end_after(waiter)
      Result.new(out.read, err.read, waiter.value)
    end
  end

  def run_command(environment, command)
    Open3.popen3(environment, *command) do |input, out, err, waiter|
      input.close
      readers = [out, err].map { |stream| Thread.new { stream.read } }
      end_after(waiter)
      [*readers.map(&:value), waiter.value]
    end
  end

  def end_after(waiter)
    waiter.join(LIMIT) or raise "the program did not end within #{LIMIT} s"
  ensure
    kill(waiter) # also when the test's own time is over: whoever leaves waits for it
  end

  def kill(waiter)
    Process.kill(:KILL, waiter.pid) if waiter.alive?
  rescue Errno::ESRCH
    nil # it has just ended
  end
end
