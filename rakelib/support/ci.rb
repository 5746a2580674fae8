# frozen_string_literal: true

require_relative "command"

# Runs each section as a rake of its own, shows what it prints, and counts what passed and failed.
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

  # sections: {title => rake task}
  def initialize(sections)
    @sections = sections
  end

  # Returns whether everything passed.
  def run # rubocop:disable Naming/PredicateMethod
    outcomes = @sections.map { |title, task| section(title, task) }
    puts "", "== Summary", *outcomes, *outcomes.flat_map(&:not_run)
    outcomes.reject { |outcome| outcome.failed.zero? }.each { |outcome| puts outcome.ending }
    failed = outcomes.sum(&:failed)
    puts "#{outcomes.sum(&:passed)} passed, #{failed} failed"
    failed.zero?
  end

  private

  def section(title, task)
    puts "", "== #{title} (rake #{task})"
    started = now
    output, status = Command.show(RbConfig.ruby, "-S", "rake", task)
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
