# frozen_string_literal: true

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))

require "minitest/autorun"
require "trunkline/xml"
require "builder"

# Each test under heavier garbage collection: TRUNKLINE_GC=stress or compact.
module GarbageCollection
  MODES = {
    "stress" => lambda { |run|
      GC.stress = true
      run.call
    },
    "compact" => lambda { |run|
      GC.auto_compact = true
      run.call
      GC.compact
    }
  }.freeze

  def run(...)
    mode = MODES[ENV.fetch("TRUNKLINE_GC", nil)]
    return super unless mode

    result = nil
    mode.call(-> { result = super })
    result
  ensure
    GC.stress = false
    GC.auto_compact = false if GC.respond_to?(:auto_compact=)
  end
end

Minitest::Test.prepend(GarbageCollection)
