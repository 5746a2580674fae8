# frozen_string_literal: true

# Reports how much of the suite the lists leave out, for the engine in Ruby on CRuby, on JRuby 10 and on JRuby 9.4. It
# exits with status 1 when that is too much for any of them, or when an entry of a list matches no test.

require "minitest"

# Prevents the tests from running: they are only counted.
def Minitest.autorun = nil

require "test_helper"

# The tests of all files, and the tests that the lists leave out.
class LeftOut
  MOST = 0.02
  WHERE = {
    "CRuby" => %w[engines.yml engines_cruby.yml], "JRuby 10" => %w[engines.yml engines_jruby.yml],
    "JRuby 9.4" => %w[engines.yml engines_jruby.yml engines_jruby_9.yml]
  }.freeze

  FILES = Dir[File.expand_path("../**/test_*.rb", __dir__)].grep_v(%r{/test_helper|/support/}).sort.freeze

  def initialize
    FILES.each { |file| require file }
    @tests = Minitest::Runnable.runnables.flat_map do |tests|
      tests.methods_matching(/^test_/).map { |name| [tests, name] }
    end
  end

  # @return [Boolean] whether every list leaves out few tests, and each entry matches one
  def few?
    faults = WHERE.flat_map { |where, lists| faults(where, Engines.left_out(lists)) }
    puts faults, "#{WHERE.size} passed, #{faults.size} failed"
    faults.empty?
  end

  private

  def faults(where, left_out)
    entries = @tests.filter_map { |tests, name| Engines.entry(tests, name, left_out) }
    share = entries.size.fdiv(@tests.size)
    puts "#{where}: #{entries.size} of #{@tests.size} tests are left out (#{(share * 100).round(2)} %)"
    needless = (left_out.keys - entries).map { |entry| "#{where}: no test is #{entry}" }
    share < MOST ? needless : ["#{where}: #{(MOST * 100).round} % or more", *needless]
  end
end

exit LeftOut.new.few?
