# frozen_string_literal: true

require "minitest"

# TRUNKLINE_GC=normal|minor|major|compact|stress: how hard the collector is pushed while each test runs. `ruby -r` this
# file does the same to tests that are not ours.
module GarbageCollection
  # Seconds of a test under stress in which each new object collects the whole heap, which takes about ten milliseconds;
  # what comes later collects the young objects alone, in a fiftieth of that.
  WHOLE_HEAP_SECONDS = 0.2
  # The bit of GC.stress= for that.
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

    # Runs what is none of our code.
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

  # The other library's answer, made without stress: that is for ours.
  def reference(&block) = GarbageCollection.relieved(&block)

  # How often a loop goes round: under stress often enough to be there.
  def rounds(number)
    GarbageCollection.stress? ? [number / 100, 3].max : number
  end
end

Minitest::Test.prepend(GarbageCollection)
