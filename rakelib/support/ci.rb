# frozen_string_literal: true

require "open3"
require_relative "command"

# Runs each section as a rake of its own, shows what it prints, and counts what passed and failed. As many sections run
# at once as there are processors, but no two of one namespace of rake, which may share a folder; a section that needs
# the processors, or changes the extensions that others load, runs alone, before the others.
class CI
  # How tools say what they ran. What says neither counts as one.
  MINITEST = /^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors, (\d+) skips/
  RSPEC = /^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?/
  TALLY = /^(?:[\w .-]+: )?(\d+) passed, (\d+) failed$/

  # How a task says what it could not run, and why.
  NOT_RUN = /^not run: .*/

  # What Minitest says of one failure, up to the next empty line.
  FAILURE = /^ +\d+\) (?:Failure|Error):\n(?:.+\n)+/

  # Lines of a failed section, and of each of its failures, that are said again behind the summary: what is left of a
  # log is often its end.
  ENDING = 20

  Outcome = Struct.new(:title, :passed, :failed, :seconds, :output, keyword_init: true) do
    def ending = ["", "== How it ended: #{title}", *output.lines.last(ENDING), *failures]

    def failures = output.scan(FAILURE).flat_map { |failure| failure.lines.first(ENDING) }

    def not_run = output.scan(NOT_RUN)

    def to_s
      mark = failed.zero? ? "ok  " : "FAIL"
      format("%<mark>s  %<title>-52s %<passed>6d passed %<failed>4d failed %<seconds>7.1f s", mark: mark, **to_h)
    end
  end

  # @param sections [Hash{String => String}] rake tasks by the titles of their sections
  # @param alone [Array<String>] those of the tasks that run alone
  def initialize(sections, alone:)
    @sections = sections
    @alone = alone
    @lock = Mutex.new
    @ended = ConditionVariable.new
    @running = []
  end

  # Returns whether everything passed.
  def run # rubocop:disable Naming/PredicateMethod
    alone, others = @sections.partition { |_, task| @alone.include?(task) }
    outcomes = alone.to_h { |title, task| [title, section(title, task)] }.merge(at_once(others))
    outcomes = @sections.keys.map { |title| outcomes.fetch(title) }
    puts "", "== Summary", *outcomes, *outcomes.flat_map(&:not_run)
    outcomes.reject { |outcome| outcome.failed.zero? }.each { |outcome| puts outcome.ending }
    failed = outcomes.sum(&:failed)
    puts "#{outcomes.sum(&:passed)} passed, #{failed} failed"
    failed.zero?
  end

  private

  # @return [Hash{String => Outcome}]
  def at_once(sections)
    waiting = sections.dup
    Command.at_once(sections) do
      title, task = take(waiting)
      outcome = section(title, task)
      @lock.synchronize do
        @running.delete(namespace(task))
        @ended.broadcast
      end
      [title, outcome]
    end.to_h
  end

  # The first that waits and has nobody of its namespace running.
  def take(waiting)
    @lock.synchronize do
      until (chosen = waiting.find { |_, task| !@running.include?(namespace(task)) })
        @ended.wait(@lock)
      end
      @running << namespace(chosen.last)
      waiting.delete(chosen)
    end
  end

  def namespace(task) = task[/\A[^:]+/]

  # What it prints is shown when it is through, as others may be running.
  def section(title, task)
    @lock.synchronize { puts "begins: #{title}" }
    started = now
    output, status = Open3.capture2e(RbConfig.ruby, "-S", "rake", task)
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
