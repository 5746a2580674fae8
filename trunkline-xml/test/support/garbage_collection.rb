# frozen_string_literal: true

require "minitest"

# TRUNKLINE_GC=normal|minor|major|compact|stress: how the garbage collector is stressed while each test runs. `ruby -r`
# this file does the same for tests of other libraries.
module GarbageCollection
  # Seconds at the start of a test under stress in which each new object collects the whole heap, which takes about ten
  # milliseconds; afterwards each collects only the young objects, in a fiftieth of that time.
  WHOLE_HEAP_SECONDS = 0.2
  # The flag of GC.stress= that collects only the young objects.
  YOUNG_ONLY = 1

  MODES = {
    "normal" => :call.to_proc,
    "minor" => ->(test) { test.call.tap { GC.start(full_mark: false) } },
    "major" => ->(test) { test.call.tap { GC.start } },
    "compact" => lambda do |test|
      GC.auto_compact = true
      test.call.tap { GC.compact }
    ensure
      GC.auto_compact = false
    end,
    "stress" => lambda do |test|
      GC.stress = @stress = true
      relief = Thread.new do
        sleep WHOLE_HEAP_SECONDS
        @stress = YOUNG_ONLY
        GC.stress = YOUNG_ONLY if GC.stress
      end
      test.call
    ensure
      relief.kill.join
      GC.stress = false
    end
  }.freeze

  LEVEL = ENV.fetch("TRUNKLINE_GC", "normal")
  abort "TRUNKLINE_GC must be one of #{MODES.keys.join(", ")}, was #{LEVEL}" unless MODES.key?(LEVEL)

  class << self
    def stress? = LEVEL == "stress"

    # Runs code of other libraries without stress.
    def relieved
      GC.stress = false if stress?
      yield
    ensure
      GC.stress = @stress if stress?
    end
  end

  def run(...)
    MODES.fetch(LEVEL).call(-> { super })
  end

  private

  # The result of the other library, computed without stress, since only our code is to be tested under it.
  def reference(&block) = GarbageCollection.relieved(&block)

  # The number of iterations of a loop, reduced under stress.
  def rounds(number)
    GarbageCollection.stress? ? [number / 100, 3].max : number
  end
end

Minitest::Test.prepend(GarbageCollection)
