# frozen_string_literal: true

# Simulates a fleet of bulk workers, from a seed: the load on its database, and the time that it loses. Each worker
# claims one slice after another; a worker that dies loses its slice until the lease is over.
class ScaleSimulation
  # The parameters of a run. workers: processes; in_flight: requests at once in each; latency: median seconds of a
  # request, and spread: the standard deviation of its logarithm; slow: one slice in `slow` has an origin that is 20
  # times slower; life: seconds after which a worker dies, on average; lease, interval: seconds (Settings, Worker)
  Fleet = Struct.new(:workers, :urls, :slice, :in_flight, :latency, :spread, :slow, :life, :lease, :interval,
                     keyword_init: true)

  Outcome = Struct.new(:seconds, :requests_a_second, :writes_a_second, :most_writes, :lost_to_leases,
                       :lost_to_stragglers, :repeated, keyword_init: true)

  SLOWER = 20
  FEED = 4 # slices that are cut in one transaction
  REPORT = 5.0 # seconds between two reports of what a worker does (Activity)

  def initialize(fleet, seed)
    @fleet = fleet
    @random = Random.new(seed)
    @mean = fleet.latency * Math.exp((fleet.spread**2) / 2)
    @deviation = @mean * Math.sqrt(Math.exp(fleet.spread**2) - 1)
    @writes = Hash.new(0) # by second
    @waiting = [] # when the slices of dead workers may be taken over
    @busy = @lost = @idle = @cut = 0.0
    @repeated = 0
  end

  # @return [Outcome]
  def run
    left = (@fleet.urls.to_f / @fleet.slice).ceil
    clocks = Array.new(@fleet.workers, 0.0)
    until left.zero? && @waiting.empty?
      worker = next_worker(clocks)
      now = clocks[worker]
      if !@waiting.empty? && (@waiting.first <= now || left.zero?)
        now = [@waiting.shift, now].max
      else
        left -= 1
      end
      clocks[worker] = work(now)
    end
    outcome(clocks)
  end

  private

  # Returns the worker that is free first. @order is sorted by the workers' clocks.
  def next_worker(clocks)
    @order ||= clocks.each_index.to_a
    @order.push(@order.shift) if @moved
    @moved = true
    sift(clocks)
    @order.first
  end

  # Inserts the worker that has worked last where its clock belongs.
  def sift(clocks)
    last = @order.pop
    at = @order.bsearch_index { |other| clocks[other] > clocks[last] } || @order.size
    @order.insert(at, last)
  end

  def work(now)
    seconds = seconds_of_a_slice
    death = -Math.log(1 - @random.rand) * @fleet.life
    return die(now, death) if death < seconds

    write(now, seconds)
    @busy += seconds
    now + seconds
  end

  # Items that were not recorded are repeated; the slice waits for the end of its lease, the worker for its restart.
  def die(now, death)
    write(now, death)
    unrecorded = [death, @fleet.interval].min
    @lost += unrecorded
    @repeated += (unrecorded / seconds_of_a_slice * @fleet.slice).round
    over = now + death + @fleet.lease
    at = @waiting.bsearch_index { |other| other > over } || @waiting.size
    @waiting.insert(at, over)
    now + death + 5.0
  end

  # The time of a slice, with a part of its requests in flight at once: the sum of their times, which is nearly normal,
  # and the longest of the last requests.
  def seconds_of_a_slice
    count = @fleet.slice.fdiv(@fleet.in_flight)
    sum = (@mean * count) + (@deviation * Math.sqrt(count) * normal)
    tail = @fleet.latency * Math.exp(@fleet.spread * Math.sqrt(2 * Math.log(@fleet.in_flight)))
    [sum, @fleet.latency].max * (@random.rand(@fleet.slow).zero? ? SLOWER : 1) + tail
  end

  def normal = Math.sqrt(-2 * Math.log(1 - @random.rand)) * Math.cos(2 * Math::PI * @random.rand)

  # Counts the writes of a slice: the claim, each record and report, the renewals of the lease, and its part of the cut.
  def write(now, seconds)
    @writes[now.floor] += 1
    each = @fleet.interval
    times = [(seconds / each).ceil, 1].max
    often = 1 + (each / REPORT)
    times.times { |number| @writes[(now + (number * each)).floor] += often }
    (seconds / (@fleet.lease / 3.0)).floor.times { |number| @writes[(now + (number * @fleet.lease / 3.0)).floor] += 1 }
    @cut += 1.0.fdiv(FEED)
    return if @cut < 1

    @cut -= 1
    @writes[now.floor] += 1
  end

  def outcome(clocks)
    seconds = clocks.max
    worker_seconds = seconds * @fleet.workers
    Outcome.new(seconds: seconds, requests_a_second: @fleet.urls / seconds,
                writes_a_second: @writes.each_value.sum / seconds, most_writes: @writes.each_value.max,
                lost_to_leases: @lost / worker_seconds,
                lost_to_stragglers: clocks.sum { |clock| seconds - clock } / worker_seconds,
                repeated: @repeated.fdiv(@fleet.urls))
  end
end
