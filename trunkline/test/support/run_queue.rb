# frozen_string_literal: true

# How long threads of this process were ready to run and had no processor, on Linux. JRuby's work is shared by many
# threads, its compilers' among them: that one which sleeps wakes in time says little of the others.
class RunQueue
  # Seconds between looks: there is a file for each thread.
  PERIOD = 0.05
  KEPT = 400

  def initialize
    @looks = [[0.0, waited]]
  end

  # @param now [Float] monotonic seconds; called often, it looks now and then
  def beat(now)
    return if now - @looks.last.first < PERIOD

    @looks << [now, waited]
    @looks.shift if @looks.size > KEPT
  end

  # @param from [Float] monotonic seconds
  # @param now [Float]
  # @return [Float] seconds between, of all threads; half of that time at the most: what waits for so much longer must
  #   come to an end
  def waited_between(from, now)
    _, before = @looks.reverse_each.find { |at, _| at <= from } || @looks.first
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
