# frozen_string_literal: true

require "open3"
require_relative "support/command"
require_relative "support/webmock_source"

# The Ruby suites. Each gem has its own `<name>:test`; `rake test` runs them all.
module Suites
  LEVELS = %w[minor major compact stress].freeze
  AT_ONCE = 5 # processes
  # Files that take half a minute or more.
  LONG = %w[
    abandoned_streams agents cases dns_cases failing hedge http1_tests_over_http2 http2_cases names sdks signals soak
    timeout_cases
  ].map { |name| "/test_#{name}.rb" }.freeze
  SUPPORT = File.join(ROOT, "rakelib/support")
  # The locale of many containers: text must be read independently of the locale. Some suites run with this locale, the
  # others with the machine's.
  NO_LOCALE = { "LC_ALL" => "C" }.freeze

  module_function

  # Returns the suite's files, or those in FILES="trunkline/test/test_x.rb ...".
  def files(folder)
    chosen = ENV["FILES"]&.split&.map { |file| File.expand_path(file, ROOT) }
    return chosen if chosen

    found = Dir["#{ROOT}/#{folder}/test/**/test_*.rb"]
    found = found.reject { |file| file.end_with?("/test_helper.rb") || file.include?("/test/support/") }
    found.empty? ? abort("no tests in #{folder}/test") : found
  end

  # Returns the files of these tests, in whichever folder of the suite they are.
  def named(folder, names)
    names.map do |name|
      Dir["#{ROOT}/#{folder}/test/**/test_#{name}.rb"].first || abort("no test_#{name}.rb in #{folder}/test")
    end
  end

  # Returns the files with tests that also run under GC.stress: their subject is neither time nor thousands of calls.
  def stressable(folder) = files(folder).select { |file| File.read(file).match?(/^  stressable$/) }

  # Runs a whole suite in one process, so that its servers start once.
  def run(folder, environment = {}, chosen = files(folder))
    system(environment, RbConfig.ruby, *arguments(folder, chosen), exception: true)
  end

  # Runs tests of trunkline on an extension that is built as on a system without epoll, eventfd, ppoll and similar
  # functions.
  def run_with_poll(chosen = files("trunkline"))
    environment = { "TRUNKLINE_POLL" => "1" }
    extensions = EXTENSIONS.select { |extension| extension.name == "trunkline" }
    extensions.each { |extension| extension.build(environment) }
    run_side_by_side("trunkline", AT_ONCE, environment, chosen)
  ensure
    extensions.each { |extension| extension.build({}) }
  end

  # Runs `count` processes in parallel, for tests that wait more than they compute. A process's output is shown when it
  # ends.
  def run_side_by_side(folder, count, environment = {}, chosen = files(folder))
    succeeded = Command.at_once(parts(chosen, count), count) do |part|
      output, status = Open3.capture2e(environment, RbConfig.ruby, *arguments(folder, part))
      puts output
      status.success?
    end
    abort "the suite of #{folder} failed" unless succeeded.all?
  end

  # Long files come first, and there are more parts than parallel processes, so that all end at about the same time.
  def parts(chosen, count)
    long, others = chosen.sort.partition { |file| file.end_with?(*LONG) }
    long.map { |file| [file] } + others.group_by.with_index { |_, at| at % (count * 2) }.values
  end

  # Ruby's arguments for these files. The lab's program needs its gems activated, not only their folders in the load
  # path.
  def arguments(folder, chosen = files(folder))
    paths = %w[lib test].flat_map { |name| ["-I", File.join(ROOT, folder, name)] }
    paths += ["-r", File.join(SUPPORT, "gem_folders.rb")] unless folder == "trunkline-lab"
    [*paths, File.join(SUPPORT, "chosen_tests.rb"), *chosen]
  end
end

desc "Every Ruby suite (TRUNKLINE_GC=normal|minor|major|compact|stress)"
task test: "trunkline:test"

namespace :trunkline do
  desc "The Ruby suite of trunkline"
  task(test: :compile) { Suites.run_side_by_side("trunkline", Suites::AT_ONCE) }
end

desc "WebMock's own examples, of a pinned gem (or WEBMOCK_SOURCE=a checkout of its source)"
task webmock: %w[webmock:clients webmock:net_http]

namespace :webmock do
  paths = %w[lib test/facades/webmock].flat_map { |folder| ["-I", File.join(ROOT, "trunkline", folder)] }

  # Yields when the source is available; otherwise reports what was not run.
  with_source = lambda do |what, &run|
    ENV["WEBMOCK_SOURCE"] = WebMockSource.path
    next run.call if ENV["WEBMOCK_SOURCE"]

    puts "not run: #{what}, because webmock-#{WebMockSource::VERSION}.gem could not be had"
  end

  desc "WebMock's own examples for clients (CI)"
  task clients: :compile do
    with_source.call("WebMock's examples for clients") do
      sh "rspec", "--options", File::NULL, *paths, File.join(ROOT, "trunkline/test/facades/webmock/acceptance_spec.rb")
    end
  end

  desc "WebMock's own examples of Net::HTTP, with and without Trunkline (CI)"
  task net_http: :compile do
    with_source.call("WebMock's examples of Net::HTTP") do
      ruby "-I", paths[1], File.join(ROOT, "trunkline/test/facades/webmock/net_http/compare.rb")
    end
  end
end

namespace :typhoeus do
  desc "Compare with the real Typhoeus, and write docs/typhoeus.md"
  task(differences: :compile) do
    require_relative "../trunkline/test/facades/typhoeus/compared/differences"
    File.write(Differences::PAGE, Differences.new.page)
  end
end

desc "The Ruby suite of trunkline with the collector pushed harder and harder around each test"
task gc: Suites::LEVELS.map { |level| "gc:#{level}" }

namespace :gc do
  Suites::LEVELS.each do |level|
    desc "The Ruby suite of trunkline with TRUNKLINE_GC=#{level}"
    task(level => :compile) do
      # Older Rubies crash when they move objects (trunkline/test/support/gc_level.rb).
      next in_newer_ruby("gc:compact") if level == "compact" && RUBY_VERSION < "3.3"

      Suites.run_side_by_side("trunkline", Etc.nprocessors + 1, { "TRUNKLINE_GC" => level })
    end
  end
end

desc "The Ruby suite of trunkline on an extension built for ASan and UBSan"
task :sanitize do
  runtimes = %w[libasan.so libubsan.so].map { |name| `gcc -print-file-name=#{name}`.chomp }
  EXTENSIONS.each { |extension| extension.build("SANITIZE" => "address,undefined") }
  # Ruby frees most of its memory only by ending the process, so memcheck searches for leaks instead; and Ruby allocates
  # signal stacks, which ASan would unmap while they are in use. Freed memory is kept from reuse for a while, but not so
  # much of it that tests of memory fail.
  Suites.run_side_by_side("trunkline", Etc.nprocessors,
                          { "LD_PRELOAD" => runtimes.join(" "),
                            "ASAN_OPTIONS" => "detect_leaks=0:use_sigaltstack=0:quarantine_size_mb=1:" \
                                              "thread_local_quarantine_size_kb=64",
                            "UBSAN_OPTIONS" => "print_stacktrace=1:halt_on_error=1" })
ensure
  EXTENSIONS.each(&:build)
end

namespace :poll do
  # Tests of the code that waits for file descriptors and wake-ups.
  waiting = %w[batch_in_reactor edges_in_batches fibers names sockets]

  desc "The Ruby suite of trunkline without epoll, eventfd, ppoll and the like (as on macOS)"
  task(test: :compile) { Suites.run_with_poll }

  desc "Of that suite, what waits (CI)"
  task(quick: :compile) do
    Suites.run_with_poll(Suites.named("trunkline", waiting))
  end
end
