# frozen_string_literal: true

# How much of the suite the lists leave out, on the engine in Ruby on CRuby, on JRuby 10 and on JRuby 9.4. It ends with
# a status of 1 when that is too much anywhere, or when an entry of a list names no test.

require "minitest"

# The tests are counted, not run.
def Minitest.autorun = nil

require "test_helper"

# The tests of the files, and what the lists leave out of them.
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

  # @return [Boolean] whether they are few everywhere, and each entry names one
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
