# frozen_string_literal: true

# TRUNKLINE_GC=normal|minor|major|compact|stress: how the garbage collector is stressed around each test. Under stress
# every new object triggers a collection of half a millisecond; this applies to classes that call `stressable`, whose
# subject is neither time nor thousands of calls.
module GCLevel
  LEVELS = %w[normal minor major compact stress].freeze
  LEVEL = ENV.fetch("TRUNKLINE_GC", "normal")
  abort "TRUNKLINE_GC must be one of #{LEVELS.join(", ")}, was #{LEVEL}" unless LEVELS.include?(LEVEL)

  # 1: only minor collections; major ones would take fifty times as long.
  YOUNG_ONLY = 1

  # Ruby before 3.3 may crash when it moves objects, because it reads one word past the stack of each thread
  # (https://github.com/ruby/ruby/pull/7081).
  COMPACTS = RUBY_VERSION >= "3.3"
  abort "TRUNKLINE_GC=compact needs Ruby 3.3 or newer, this is #{RUBY_VERSION}" if LEVEL == "compact" && !COMPACTS

  # Whether the test runs under valgrind (rake memcheck).
  VALGRIND = ENV.key?("RUBY_MEMCHECK_RUNNING")

  # Factor by which tests under stress or valgrind may be slower, and later, than others.
  SLOWDOWN = LEVEL == "stress" || VALGRIND ? 20 : 1

  module ClassMethods
    def stressable = @stressable = true
    def stressed? = @stressable && LEVEL == "stress"
  end

  def self.included(base) = base.extend(ClassMethods)

  # The heap is doubled only once, so that there is space to move objects to: after each test, it would soon take
  # gigabytes.
  def self.first_time? = @compacted ? false : @compacted = true

  def setup
    super
    GC.auto_compact = true if COMPACTS && %w[compact stress].include?(LEVEL)
    GC.stress = YOUNG_ONLY if self.class.stressed?
  end

  def teardown
    GC.stress = false
    super
  ensure
    collect
  end

  private

  def collect
    case LEVEL
    when "minor" then GC.start(full_mark: false)
    when "major", "stress" then GC.start
    when "compact" then GC.verify_compaction_references(toward: :empty, expand_heap: GCLevel.first_time?)
    end
  end
end
