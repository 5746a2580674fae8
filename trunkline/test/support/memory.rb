# frozen_string_literal: true

# What the process holds and makes.
module Memory
  module_function

  def collect = GC.start

  # How often all of Ruby's objects were looked at.
  def full_collections = GC.stat(:major_gc_count)

  # How often the young ones alone were.
  def minor_collections = GC.stat(:minor_gc_count)

  # How often any were.
  def collections = GC.count

  # Ruby's objects, in number.
  def objects
    collect
    GC.stat(:heap_live_slots)
  end

  # What Ruby's objects take.
  def bytes_of_objects
    collect
    ObjectSpace.memsize_of_all
  end

  def resident_bytes = File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i * 1024

  # Since the last reset_peak.
  def peak_bytes = File.read("/proc/self/status")[/^VmHWM:\s+(\d+)/, 1].to_i * 1024

  # Linux: 5 resets the high-water mark of the resident set.
  def reset_peak = File.write("/proc/self/clear_refs", "5")

  def native_threads = Dir.children("/proc/self/task").size

  # By the block: what of them is freed counts, too.
  def allocated_bytes
    GC.start
    enabled = GC.disable
    before = GC.stat(:malloc_increase_bytes)
    yield
    GC.stat(:malloc_increase_bytes) - before
  ensure
    GC.enable unless enabled
  end

  # Objects made by one call of the block, averaged over many.
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
