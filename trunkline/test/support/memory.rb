# frozen_string_literal: true

# The memory and the threads of the process, and what a block allocates.
module Memory
  module_function

  def collect = GC.start

  # Runs the block without a collection. JRuby has no such switch, and warns.
  def without_collector
    verbose = $VERBOSE
    $VERBOSE = false
    GC.start
    GC.disable
    yield
  ensure
    GC.enable
    $VERBOSE = verbose
  end

  # The number of major collections, which mark all objects.
  def full_collections = GC.stat(:major_gc_count)

  # The number of minor collections, which mark only young objects.
  def minor_collections = GC.stat(:minor_gc_count)

  # The number of all collections.
  def collections = GC.count

  # The number of live objects.
  def objects
    collect
    GC.stat(:heap_live_slots)
  end

  # The bytes of all live objects.
  def bytes_of_objects
    collect
    ObjectSpace.memsize_of_all
  end

  def resident_bytes = File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i * 1024

  # The peak of the resident set since the last reset_peak.
  def peak_bytes = File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1].to_i * 1024

  # Linux: 5 resets the high-water mark of the resident set.
  def reset_peak = File.write("/proc/self/clear_refs", "5")

  def native_threads = Dir.children("/proc/self/task").size

  # Bytes that the block allocates, including those that are freed meanwhile.
  def allocated_bytes
    GC.start
    enabled = GC.disable
    before = GC.stat(:malloc_increase_bytes)
    yield
    GC.stat(:malloc_increase_bytes) - before
  ensure
    GC.enable unless enabled
  end

  # Objects allocated by one call of the block, averaged over many.
  def objects_per_call(calls: 200)
    yield
    enabled = GC.disable
    before = GC.stat(:total_allocated_objects)
    calls.times { yield } # rubocop:disable Style/ExplicitBlockArgument -- a passed block is an object more
    (GC.stat(:total_allocated_objects) - before).fdiv(calls)
  ensure
    GC.enable unless enabled
  end
end

if RUBY_ENGINE == "jruby"
  require_relative "memory_on_jruby"
  Memory.singleton_class.prepend(MemoryOnJRuby)
else
  require "objspace"
end
