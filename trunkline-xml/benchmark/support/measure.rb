# frozen_string_literal: true

# CPU time of several ways to do one thing: interleaved round by round, so that a slow moment of the machine strikes
# all of them, and the median over the rounds.
class Measure
  # Seconds of CPU for each measurement; the number of calls is found out.
  SLICE = Float(ENV.fetch("BENCH_SLICE", "0.1"))
  ROUNDS = Integer(ENV.fetch("BENCH_ROUNDS", "9"))

  Result = Struct.new(:seconds, :spread, keyword_init: true)

  # @param ways [Hash{String => Proc}]
  # @return [Hash{String => Result}] median seconds for a call, and the half range of the middle half
  def self.run(ways)
    counts = ways.transform_values { |way| calls_for(way) }
    samples = ways.transform_values { [] }
    ROUNDS.times do
      ways.each { |name, way| samples[name] << time(way, counts[name]) }
    end
    samples.transform_values do |times|
      sorted = times.sort
      quarter = sorted.size / 4
      Result.new(seconds: sorted[sorted.size / 2], spread: (sorted[-1 - quarter] - sorted[quarter]) / 2)
    end
  end

  def self.calls_for(way)
    way.call
    calls = 1
    calls *= 2 while time(way, calls) * calls < SLICE / 4
    [calls * 4, 1].max
  end

  def self.time(way, calls)
    GC.start
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    index = 0
    while index < calls
      way.call
      index += 1
    end
    (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before) / calls
  end
  private_class_method :calls_for, :time
end
