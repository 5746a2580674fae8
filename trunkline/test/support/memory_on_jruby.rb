# frozen_string_literal: true

require "java"

# Replaces methods of Memory by figures of the live objects on Java's heap: the process' memory is not conclusive, since
# the heap grows up to its limit before Java collects. GC.start does nothing on JRuby.
module MemoryOnJRuby
  # Seconds between two collections of the thread that measures the peak.
  OFTEN = 1

  def collect = java.lang.System.gc

  OLD = /Old|MarkSweep/

  def full_collections = collectors.select { |one| OLD.match?(one.name) }.sum(&:collection_count)
  def minor_collections = collectors.reject { |one| OLD.match?(one.name) }.sum(&:collection_count)

  # Java makes minor collections at its own discretion, so only major ones count.
  alias collections full_collections

  def bytes_of_objects
    collect
    runtime = java.lang.Runtime.runtime
    runtime.total_memory - runtime.free_memory
  end

  alias resident_bytes bytes_of_objects

  # Java does not count objects: assumes this many bytes for each.
  def objects = bytes_of_objects / 160

  def allocated_bytes
    before = threads.current_thread_allocated_bytes
    yield
    threads.current_thread_allocated_bytes - before
  end

  # peak_bytes ends the thread.
  def reset_peak
    @peak = 0
    @looking = Thread.new { look_again while sleep(OFTEN) }
  end

  def peak_bytes
    @looking.kill.join
    look_again
  end

  private

  def collectors = java.lang.management.ManagementFactory.garbage_collector_mx_beans

  def threads
    java.lang.management.ManagementFactory.get_platform_mx_bean(com.sun.management.ThreadMXBean.java_class)
  end

  def look_again = @peak = [@peak, resident_bytes].max
end
