# frozen_string_literal: true

require "open3"
require "yaml"
require_relative "command"
require_relative "extension"

# Builds of the engine without one of its safety rules (trunkline/ext/trunkline/protocol/guard.h), and the tests that
# must fail with each.
class Mutants
  SOURCES = "#{ROOT}/trunkline/ext/trunkline".freeze
  TABLE = "#{ROOT}/trunkline/test/guards.yml".freeze
  BUILDS = "#{ROOT}/tmp/mutants".freeze
  LIMIT = 120 # seconds for one test file; without the rule the engine may wait for ever
  TIMED_OUT = 124 # the status of timeout(1)
  # The folder comes first in the load path before the tests put the gem's own folder there.
  RUN = "folder = ARGV.shift; $LOAD_PATH.unshift(folder) unless folder.empty?; require 'trunkline'; load ARGV.shift"
  RESULT = /^(\d+) runs, \d+ assertions, (\d+) failures, (\d+) errors/

  # name: the argument of GUARD(name); says: the rule; file, test: the test that fails without it, by its name;
  # important: whether CI checks it
  Rule = Struct.new(:name, :says, :file, :test, :important, keyword_init: true)

  attr_reader :rules

  def initialize
    @rules = YAML.load_file(TABLE).map { |name, row| Rule.new(name: name, **row.transform_keys(&:to_sym)) }
    @sources = Dir["#{SOURCES}/**/*.c"].to_h { |path| [path, File.read(path).scan(/GUARD\(([A-Z0-9_]+)\)/).flatten] }
  end

  # @return [Array<String>] rules that are only in the table or only in the sources
  def unmatched
    listed = rules.map(&:name)
    guarded = @sources.values.flatten.uniq
    (listed - guarded) | (guarded - listed)
  end

  # Builds the engine without each rule, one after the other: two builds differ in only one or two object files.
  #
  # @return [Hash{Rule => String}] folders for ruby -I
  def build(rules)
    made = Extension.new("#{SOURCES}/extconf.rb").copy(flavour: "mutants")
    rules.to_h { |rule| [rule, build_without(rule, made)] }
  end

  # @param builds [Hash{Rule => String}]
  # @return [Array<Rule>] the rules whose test passes without them
  def survivors(builds)
    builds.keys.zip(Command.at_once(builds.to_a) { |rule, folder| fails?(rule.file, [rule.test], folder) })
      .reject(&:last).map(&:first)
  end

  # @return [Array<String>] files with a named test that fails even with all rules
  def broken(rules)
    files = rules.group_by(&:file).transform_values { |those| those.map(&:test).uniq }.to_a
    failed = Command.at_once(files) { |file, tests| fails?(file, tests, nil) }
    files.zip(failed).select(&:last).map { |(file, _), _| file }
  end

  private

  def build_without(rule, made)
    folder = File.dirname(made)
    objects = @sources.select { |_, guards| guards.include?(rule.name) }.keys
      .map { |path| "#{folder}/#{path.delete_prefix("#{SOURCES}/").sub(/c\z/, "o")}" }
    FileUtils.rm_f(objects)
    output, done = Open3.capture2e("make", "--silent", "DEFS=-DWITHOUT_#{rule.name}=1", chdir: folder)
    abort "#{output}\nwithout #{rule.name} the engine does not compile" unless done.success?

    keep(made, "#{BUILDS}/#{rule.name}")
  ensure
    FileUtils.rm_f(objects) # the next build must not contain them
  end

  def keep(made, folder)
    FileUtils.mkdir_p("#{folder}/trunkline")
    FileUtils.rm_f("#{folder}/trunkline/trunkline.so")
    FileUtils.cp(made, "#{folder}/trunkline/")
    folder
  end

  # A test that never ends, and a crash of the process, count as failures, too.
  def fails?(file, tests, folder)
    output, status = run(file, tests, folder)
    runs, *failures = output.match(RESULT)&.captures&.map(&:to_i)
    return failures.sum.positive? if runs && runs >= tests.size
    return true if status.signaled? || status.exitstatus == TIMED_OUT || output.include?("[BUG]")

    abort "#{file}, #{tests.join(", ")}: did not run\n#{output.lines.last(20).join}"
  end

  def run(file, tests, folder)
    names = tests.map { |test| Regexp.escape(test) }.join("|")
    command = [RbConfig.ruby, "-W0", "-Itrunkline/lib", "-Itrunkline/test", "-e", RUN, folder.to_s,
               "trunkline/test/#{file}", "-n", "/\\A(?:#{names})\\z/"]
    output, status = Open3.capture2e("timeout", "--kill-after=2", LIMIT.to_s, *command, chdir: ROOT)
    [output.scrub, status]
  end
end
