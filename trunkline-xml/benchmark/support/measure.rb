# frozen_string_literal: true

# CPU time of several ways to do one thing: interleaved round by round, so that a slow moment of the machine strikes
# all of them; figures are medians over the rounds, ratios those of each round.
class Measure
  # Seconds of CPU for each measurement; the number of calls is found out.
  SLICE = Float(ENV.fetch("BENCH_SLICE", "0.1"))
  ROUNDS = Integer(ENV.fetch("BENCH_ROUNDS", "9"))

  # A median, with the quartiles.
  Summary = Struct.new(:value, :spread) do
    def self.of(samples)
      sorted = samples.sort
      quarter = sorted.size / 4
      new(sorted[sorted.size / 2], [sorted[quarter], sorted[-1 - quarter]])
    end
  end

  # Seconds of one way, round by round.
  Result = Struct.new(:samples) do
    def microseconds = Summary.of(samples.map { |seconds| seconds * 1e6 })

    # How many times the other's time; each round is a pair.
    def ratio_to(other) = Summary.of(samples.zip(other.samples).map { |own, others| own / others })
  end

  # @param ways [Hash{String => Proc}]
  # @return [Hash{String => Result}] seconds for a call
  def self.run(ways)
    counts = ways.transform_values { |way| calls_for(way) }
    samples = ways.transform_values { [] }
    ROUNDS.times do
      ways.each { |name, way| samples[name] << time(way, counts[name]) }
    end
    samples.transform_values { |times| Result.new(times) }
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
