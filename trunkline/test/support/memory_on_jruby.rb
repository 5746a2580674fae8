# frozen_string_literal: true

require "java"

# As Memory, of what is live on Java's heap: what the process holds says nothing there, since the heap grows as it is
# allowed to before Java collects. GC.start does nothing on JRuby.
module MemoryOnJRuby
  # Milliseconds between two collections of the thread that looks for the peak.
  OFTEN = 1000

  def collect = java.lang.System.gc

  def bytes_of_objects
    collect
    runtime = java.lang.Runtime.runtime
    runtime.total_memory - runtime.free_memory
  end

  alias resident_bytes bytes_of_objects

  # The thread ends with peak_bytes.
  def reset_peak
    over = java.util.concurrent.CountDownLatch.new(1)
    @over = over
    @peak = Thread.new do
      most = resident_bytes
      most = [most, resident_bytes].max until over.await(OFTEN, java.util.concurrent.TimeUnit::MILLISECONDS)
      most
    end
  end

  def peak_bytes
    @over.count_down
    [@peak.value, resident_bytes].max
  end
end
