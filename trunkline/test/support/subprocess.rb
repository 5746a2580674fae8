# frozen_string_literal: true

require "open3"
require "rbconfig"

# Ruby programs in separate processes, for what a test process cannot do to itself: exit, Ctrl-C, SIGPIPE,
# environment.
module Subprocess
  LIB = File.expand_path("../../lib", __dir__)
  SUPPORT = __dir__
  PRELUDE = "require \"trunkline\"; $stdout.sync = true\n"

  # JRuby ends the process at Ctrl-C; this makes it raise Interrupt like CRuby.
  CTRL_C = RUBY_ENGINE == "jruby" ? "trap(:INT) { raise Interrupt }\n" : ""

  # Seconds after which a program counts as hanging: far more than any takes on a slow machine.
  LIMIT = 180

  # The warning that ASan (rake sanitize) prints once for a process with fibers.
  ASAN_NOTE = /^==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return.*\nFalse positive.*\nFor details.*\n/

  # A program spends most of its time starting up when it loads Bundler and the folders of all gems. These gems, with
  # their dependencies, are enough for most programs.
  GEMS = %w[async brotli faraday http-2 http-cookie json mini_mime net-http public_suffix simpleidn
            websocket-driver zstd-ruby].freeze

  Result = Struct.new(:out, :err, :status)

  module_function

  # @return [Integer, nil] the signal that ended the program; Java reports it in the exit status, like a shell
  def signal_of(status)
    return status.termsig unless RUBY_ENGINE == "jruby"

    status.exitstatus - 128 if status.exited? && status.exitstatus > 128
  end

  def command(code) = [RbConfig.ruby, "-w", "-I", LIB, "-I", SUPPORT, "-e", PRELUDE + code]

  # @param gems [Array<String>, nil] names of gems; nil: all gems of the bundle
  def run(code, environment = {}, gems: GEMS)
    out, err, status = run_command({ **with_gems(gems), **environment }, command(code))
    Result.new(out, err.sub(ASAN_NOTE, ""), status)
  end

  # Starts the program, waits for a line on its output, then yields its pid.
  def interact(code, environment = {})
    Open3.popen3({ **with_gems(GEMS), **environment }, *command(code)) do |input, out, err, waiter|
      input.close
      first = out.gets
      yield waiter.pid, first
      end_after(waiter)
      Result.new(out.read, err.read, waiter.value)
    end
  end

  # @return [Hash{String => String}] environment; empty for tests that run without Bundler
  def with_gems(names)
    return {} if names.nil? || !ENV["RUBYOPT"].to_s.include?("bundler/setup")

    original = Bundler.unbundled_env
    folders = specifications(names).flat_map(&:full_require_paths)
    { "RUBYOPT" => original["RUBYOPT"], "RUBYLIB" => [*folders, original["RUBYLIB"]].compact.join(":"),
      "GEM_HOME" => File::NULL, "GEM_PATH" => File::NULL, "BUNDLER_SETUP" => nil } # RubyGems loads the last's file
  end

  def specifications(names, found = {})
    names.each do |name|
      next if found.key?(name) || !(found[name] = Gem.loaded_specs[name])

      specifications(found[name].runtime_dependencies.map(&:name), found)
    end
    found.values.compact
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
    kill(waiter) # in an ensure, for when the test's own time limit ends the wait
  end

  def kill(waiter)
    Process.kill(:KILL, waiter.pid) if waiter.alive?
  rescue Errno::ESRCH
    nil # the program has just ended
  end
end
