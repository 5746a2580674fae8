# frozen_string_literal: true

# Reports how much of the suite the lists leave out, for the engine in Ruby on CRuby, on JRuby 10 and on JRuby 9.4: of
# all tests, and apart from those for which the platform lacks something that no engine could replace. It exits with
# status 1 when that is too much for any of them, when an entry of a list matches no test, or when a test needs a Fiber
# scheduler and is not listed for JRuby 9.4.

require "minitest"

# Prevents the tests from running: they are only counted.
def Minitest.autorun = nil

require "test_helper"
require_relative "fiber_scheduler_tests"

# The tests of all files, and the tests that the lists leave out.
class LeftOut
  WITHOUT_SCHEDULERS = "engines_jruby_9.yml"
  WHERE = {
    "CRuby" => %w[engines.yml engines_cruby.yml], "JRuby 10" => %w[engines.yml engines_jruby.yml],
    "JRuby 9.4" => %W[engines.yml engines_jruby.yml #{WITHOUT_SCHEDULERS}]
  }.freeze
  # Shares of all tests, little above what was left out when they were set.
  MOST = { "CRuby" => 0.01, "JRuby 10" => 0.02, "JRuby 9.4" => 0.055 }.freeze
  # The same, apart from tests with these reasons.
  MOST_OF_OURS = 0.01
  PLATFORM = /no fork|no Ractors|no Fiber\.set_scheduler|the gem async/

  FILES = Dir[File.expand_path("../**/test_*.rb", __dir__)].grep_v(%r{/test_helper|/support/}).sort.freeze

  def initialize
    FILES.each { |file| require file }
    @tests = Minitest::Runnable.runnables.flat_map do |tests|
      tests.methods_matching(/^test_/).map { |name| [tests, name] }
    end
  end

  # @return [Boolean] whether every list leaves out few tests, and each entry matches one
  def few?
    faults = WHERE.flat_map { |where, lists| faults(where, Engines.left_out(lists)) } + unlisted
    puts faults, "#{WHERE.size + 1} passed, #{faults.size} failed"
    faults.empty?
  end

  private

  def faults(where, left_out)
    entries = @tests.filter_map { |tests, name| Engines.entry(tests, name, left_out) }
    ours = entries.reject { |entry| left_out.fetch(entry).match?(PLATFORM) }
    puts "#{where}: #{figure(entries)} of #{@tests.size} tests are left out; #{figure(ours)} apart from fork, " \
         "Ractors, Fiber schedulers and the gem async, where the platform lacks them"
    [*too_many(where, entries, MOST.fetch(where)), *too_many("#{where}, apart from these", ours, MOST_OF_OURS),
     *(left_out.keys - entries).map { |entry| "#{where}: no test is #{entry}" }]
  end

  def share(entries) = entries.size.fdiv(@tests.size)
  def figure(entries) = "#{entries.size} (#{(share(entries) * 100).round(2)} %)"

  def too_many(where, entries, most)
    ["#{where}: #{figure(entries)} are left out, #{(most * 100).round(1)} % or more"] unless share(entries) < most
  end

  # On JRuby 9.4 these would be skipped without being counted.
  def unlisted
    fibers = FiberSchedulerTests.new
    listed = Engines.left_out(WHERE.fetch("JRuby 9.4"))
    @tests.select { |tests, name| fibers.include?(tests, name) && !Engines.entry(tests, name, listed) }
      .map { |tests, name| "#{tests}##{name} needs a Fiber scheduler, and is not in #{WITHOUT_SCHEDULERS}" }
  end
end

exit LeftOut.new.few?
