# frozen_string_literal: true

# Measures how long threads of this process were ready to run without a processor, on Linux. JRuby's work is spread over
# many threads, such as its compilers': a sleeping thread that wakes in time says little about the others.
class RunQueue
  # Seconds between measurements: each reads a file per thread.
  PERIOD = 0.05
  KEPT = 400

  def initialize
    @samples = [[0.0, waited]]
  end

  # @param now [Float] monotonic seconds; called often, but measures only every PERIOD
  def beat(now)
    return if now - @samples.last.first < PERIOD

    @samples << [now, waited]
    @samples.shift if @samples.size > KEPT
  end

  # @param from [Float] monotonic seconds
  # @param now [Float] monotonic seconds
  # @return [Float] seconds of waiting between, summed over all threads; limited to half of that time, so that a wait
  #   that is extended by it comes to an end
  def waited_between(from, now)
    _, before = @samples.reverse_each.find { |at, _| at <= from } || @samples.first
    (waited - before).clamp(0.0, (now - from) / 2)
  end

  private

  def waited
    Dir.glob("/proc/self/task/*/schedstat").sum { |file| nanoseconds(file) } / 1e9
  end

  def nanoseconds(file)
    File.read(file).split[1].to_i
  rescue SystemCallError, IOError
    0 # the thread has ended
  end
end
