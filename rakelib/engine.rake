# frozen_string_literal: true

require "etc"
require "fileutils"
require "open3"
require_relative "support/command"

# The engine's libraries without Ruby, built by rakelib/support/engine.mk, and the runs of their C programs.
module EngineBuild
  MAKE = ["make", "--silent", "--file", "rakelib/support/engine.mk"].freeze
  # A leak, an overflow or undefined behaviour ends the program with its report.
  SANITIZERS = { "ASAN_OPTIONS" => "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1",
                 "TSAN_OPTIONS" => "halt_on_error=1:second_deadlock_stack=1:die_after_fork=0",
                 "UBSAN_OPTIONS" => "print_stacktrace=1" }.freeze
  LIMIT_SECONDS = 300
  # An input takes milliseconds, but the machine itself may stall for a while: only an input that takes longer than the
  # timeout counts as a hang.
  FUZZING = %w[-timeout=30 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 -print_funcs=0].freeze
  REPORT_LINES = 24

  module_function

  def programs(set, flavour)
    listed = IO.popen([*MAKE, "FLAVOUR=#{flavour}", "list-#{set}"], chdir: ROOT, &:read).split
    abort "no C program for #{set}: trunkline/test/ has none" if listed.empty?
    alone { system(*MAKE, "-j#{Etc.nprocessors}", "FLAVOUR=#{flavour}", set, chdir: ROOT, exception: true) }
    listed
  end

  # Takes a lock, since sections of the CI that run in parallel build the same libraries.
  def alone
    FileUtils.mkdir_p("#{ROOT}/tmp")
    File.open("#{ROOT}/tmp/engine.lock", File::CREAT | File::RDWR) do |file|
      file.flock(File::LOCK_EX)
      yield
    end
  end

  # Runs as many programs in parallel as there are processors: they wait more than they compute.
  #
  # @param under [Array<String>] the command of a program that runs each of them, such as valgrind
  def test(library, flavour, under = [])
    built = programs(library, flavour)
    passed = Command.at_once(built) do |program|
      output, status = Open3.capture2e(SANITIZERS, "timeout", LIMIT_SECONDS.to_s, *under, program, chdir: ROOT)
      puts "-- #{File.basename(program)} (#{flavour})\n#{output}"
      status.success?
    end
    failed = built.reject.with_index { |_, at| passed[at] }
    abort "failed: #{failed.join(", ")}" unless failed.empty?
  end

  # New inputs are written to tmp/; the kept corpus is only read.
  def fuzz(seconds, *how)
    failures = Command.at_once(programs("fuzzers", "fuzz")) do |program|
      name = File.basename(program).delete_prefix("fuzz_")
      puts "-- fuzzing #{name} for #{seconds} s"
      FileUtils.mkdir_p([found(name), "#{ROOT}/tmp/fuzz/crashes"])
      run_fuzzer(program, "-max_total_time=#{seconds}", "-artifact_prefix=tmp/fuzz/crashes/#{name}-", *how, found(name),
                 *Dir[corpus(name)])
    end
    abort failures.compact.join("\n") if failures.any?
  end

  # Adds the inputs that reach new code to the kept corpus.
  def keep_findings
    programs("fuzzers", "fuzz").each do |program|
      name = File.basename(program).delete_prefix("fuzz_")
      FileUtils.mkdir_p(corpus(name))
      failure = run_fuzzer(program, "-merge=1", corpus(name), found(name))
      abort failure if failure
    end
  end

  # Returns nil, or a report of the failure.
  def run_fuzzer(program, *arguments)
    output, status = Command.show(SANITIZERS, program, *FUZZING, *arguments, chdir: ROOT)
    [*report(output), "#{program} failed: #{status}"].join("\n") unless status.success?
  end

  # The error, its location, and the input: enough to investigate without access to the machine on which it happened.
  def report(output)
    lines = output.lines(chomp: true)
    error = lines.index { |line| line.match?(/ERROR|runtime error/) }
    first = error ? error - 1 : lines.size - REPORT_LINES
    artifact = output.scan(/Test unit written to (\S+)/).flatten.last # earlier ones were merely slow inputs
    input = "#{artifact}, in base64: #{[File.binread(File.join(ROOT, artifact))].pack("m0")}" if artifact
    [*lines[[first, 0].max, REPORT_LINES], *input]
  end

  def found(name) = File.join(ROOT, "tmp/fuzz/found", name)
  def corpus(name) = File.join(ROOT, "trunkline/test/fuzz/corpus", name)
end

%w[protocol transport].each do |library|
  namespace library do
    desc "C unit tests of #{library}/, plain and under ASan and UBSan"
    task test: %W[#{library}:test:plain #{library}:test:sanitized]

    namespace :test do
      %w[plain sanitized].each { |flavour| task(flavour) { EngineBuild.test(library, flavour) } }
    end
  end
end

desc "C unit tests of transport/ as where there is no epoll, eventfd, ppoll and the like (macOS)"
task("transport:test:poll") { EngineBuild.test("transport", "poll") }

desc "C unit tests of transport/, where threads meet, under TSan"
task("transport:test:threads") { EngineBuild.test("transport", "threads") }

namespace :protocol do
  # The same inputs in the same order each time, so that a finding can be reproduced.
  desc "Fuzz each parser (FUZZ_SECONDS=4 for each, FUZZ_SEED=1)"
  task :fuzz do
    EngineBuild.fuzz(Integer(ENV.fetch("FUZZ_SECONDS", "4")), "-seed=#{Integer(ENV.fetch("FUZZ_SEED", "1"))}")
  end

  desc "Fuzz each parser for hours (HOURS=1) and keep what reached new code"
  task :soak do
    EngineBuild.fuzz((Float(ENV.fetch("HOURS", "1")) * 3600).round)
    EngineBuild.keep_findings
  end
end
