# frozen_string_literal: true

# Counts the requests that a server has at the same time. It holds each until so many are there, or all have come; then
# a moment longer, in which one too many would be seen. So what it counts depends on no machine.
class Gauge
  MOMENT = 0.01

  attr_reader :most

  # @param wanted [Integer] how many are to be there at the same time
  # @param total [Integer] how many will come
  def initialize(wanted, total = wanted)
    @wanted = wanted
    @total = total
    @lock = Mutex.new
    @bell = ConditionVariable.new
    @now = @most = @came = 0
  end

  # @return [self]
  def hold
    @lock.synchronize do
      @came += 1
      @most = [@most, @now += 1].max
      @bell.broadcast
      @bell.wait(@lock, 1) until @now >= @wanted || @came >= @total
    end
    sleep MOMENT
    @lock.synchronize { @now -= 1 }
    self
  end
end
