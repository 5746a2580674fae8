# frozen_string_literal: true

# Counts the concurrent requests of a server. It holds each request until `wanted` have arrived, or all have; then a
# moment longer, in which one too many would be counted. So the result does not depend on the machine's speed.
class ConcurrencyProbe
  MOMENT = 0.01

  attr_reader :most

  # @param wanted [Integer] the expected number of concurrent requests
  # @param total [Integer] the number of all requests
  def initialize(wanted, total = wanted)
    @wanted = wanted
    @total = total
    @lock = Mutex.new
    @changed = ConditionVariable.new
    @now = @most = @arrived = 0
  end

  # @return [self]
  def wait
    @lock.synchronize do
      @arrived += 1
      @most = [@most, @now += 1].max
      @changed.broadcast
      @changed.wait(@lock, 1) until @now >= @wanted || @arrived >= @total
    end
    sleep MOMENT
    @lock.synchronize { @now -= 1 }
    self
  end
end
