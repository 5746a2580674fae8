# frozen_string_literal: true

require "open3"
require_relative "command"

# Runs each section as a separate rake process, shows its output, and counts what passed and failed. As many sections as
# there are processors plus two run in parallel, since many wait for much of their time; but never two of one rake
# namespace, which may share a folder. A section that needs the processors, or changes the extensions that others load,
# runs before the others; only a quiet section runs beside it, at a lower priority.
class CI
  # The summaries that tools print. A section that prints none counts as one test.
  MINITEST = /^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (\d+) skips/
  RSPEC = /^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?/
  TALLY = /^(?:[\w .-]+: )?(\d+) passed, (\d+) failed$/

  # The line in which a task reports what it could not run, and why.
  NOT_RUN = /^not run: .*/

  # Minitest's report of one failure, up to the next empty line.
  FAILURE = /^ +\d+\) (?:Failure|Error):\n(?:.+\n)+/

  # Lines of a failed section, and of each of its failures, that are repeated after the summary: of a log, often only
  # the end is kept.
  ENDING = 20

  # Characters of a failure's message in the list at the very end.
  MESSAGE = 300

  Outcome = Struct.new(:title, :passed, :failed, :seconds, :output, keyword_init: true) do
    def ending
      ["", "== How it ended: #{title}", *output.lines.last(ENDING),
       *failures.flat_map { |failure| failure.lines.first(ENDING) }]
    end

    # One line for each failure: its test and its message.
    def failed_tests
      failures.map { |failure| failure.lines.drop(1).map(&:strip).join(" ")[0, MESSAGE] }
    end

    def failures = output.scan(FAILURE)

    def not_run = output.scan(NOT_RUN)

    def to_s
      mark = failed.zero? ? "ok  " : "FAIL"
      format("%<mark>s  %<title>-52s %<passed>6d passed %<failed>4d failed %<seconds>7.1f s", mark: mark, **to_h)
    end
  end

  # @param sections [Hash{String => String}] rake tasks by the titles of their sections
  # @param alone [Array<String>] the tasks that run before the others
  # @param quiet [Array<String>] the tasks that depend neither on time nor on the extensions
  def initialize(sections, alone:, quiet:)
    @sections = sections
    @waiting = sections.to_a
    @alone = alone
    @quiet = quiet
    @outcomes = {}
    @lock = Mutex.new
    @ended = ConditionVariable.new
    @running = []
  end

  # Returns whether everything passed.
  def run # rubocop:disable Naming/PredicateMethod
    workers = Etc.nprocessors + 2
    Command.at_once(Array.new(workers), workers) { work }
    outcomes = @outcomes.values_at(*@sections.keys)
    puts "", "== Summary", *outcomes, *outcomes.flat_map(&:not_run)
    tell_failures(outcomes.reject { |outcome| outcome.failed.zero? })
    failed = outcomes.sum(&:failed)
    puts "#{outcomes.sum(&:passed)} passed, #{failed} failed"
    failed.zero?
  end

  private

  # The list comes last, so that a log that was cut at its beginning or in its middle still names every test.
  def tell_failures(outcomes)
    outcomes.each { |outcome| puts outcome.ending }
    puts "", "== Failed", *outcomes.flat_map { |outcome| [outcome.title, *outcome.failed_tests] } if outcomes.any?
  end

  # Runs sections, one after another, until none is waiting.
  def work
    while (title, task = take)
      outcome = section(title, task)
      @lock.synchronize do
        @outcomes[title] = outcome
        @running.delete(task)
        @ended.broadcast
      end
    end
  end

  # @return [Array(String, String), nil] title and task of a section that may begin now; nil when none is left
  def take
    @lock.synchronize do
      until (chosen = next_section)
        return if @waiting.empty?

        @ended.wait(@lock)
      end
      @running << chosen.last
      @waiting.delete(chosen)
    end
  end

  # A section that runs alone, if one is left; while it runs, one quiet section.
  def next_section
    first = @waiting.find { |_, task| @alone.include?(task) }
    alone_now = @running.any? { |task| @alone.include?(task) }
    return first if first && !alone_now

    busy = @running.map { |task| namespace(task) }
    @waiting.find do |_, task|
      !busy.include?(namespace(task)) && (!alone_now || (@quiet.include?(task) && @running.one?))
    end
  end

  def namespace(task) = task[/\A[^:]+/]

  # The output is shown when the section has ended, as others may be running.
  def section(title, task)
    @lock.synchronize { puts "begins: #{title}" }
    started = now
    command = [RbConfig.ruby, $PROGRAM_NAME, task] # the same rake, whatever its name on the path
    command.unshift("nice", "-n", "19") if @quiet.include?(task)
    output, status = Open3.capture2e(*command)
    output.scrub!
    @lock.synchronize { puts "", "== #{title} (rake #{task})", output }
    passed, failed = count(output)
    passed += 1 if status.success? && passed.zero?
    failed += 1 if !status.success? && failed.zero?
    Outcome.new(title: title, passed: passed, failed: failed, seconds: now - started, output: output)
  end

  def count(output)
    suites = output.scan(MINITEST).map { |counts| counts.map(&:to_i) }
    tallies = output.scan(TALLY).map { |counts| counts.map(&:to_i) }
    tallies += output.scan(RSPEC).map { |counts| tally_of_rspec(counts) }
    passed = suites.sum { |runs, failures, errors, skips| runs - failures - errors - skips } + tallies.sum(&:first)
    [passed, suites.sum { |_, failures, errors, _| failures + errors } + tallies.sum(&:last)]
  end

  def tally_of_rspec(counts)
    examples, failures, pending = counts.map(&:to_i)
    [examples - failures - pending, failures]
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
