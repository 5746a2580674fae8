# frozen_string_literal: true

# A server and a client in virtual time: the limiter under test decides when a request starts, the scenario decides its
# result. There is always one more request to send.
class Simulator
  Result = Struct.new(:good, :rejected, :seconds, :limits, :good_at, keyword_init: true) do
    def goodput = good / seconds
    def reject_share = rejected.fdiv([good + rejected, 1].max)

    # Responses per second between two moments.
    def goodput_between(from, to) = good_at.count { |at| at >= from && at < to } / (to - from).to_f

    # Time-weighted mean of the limit from the given moment on.
    def mean_limit(from, to = seconds)
      points = limits.select { |at, _| at < to }
      total = points.each_with_index.sum do |(at, limit), index|
        upto = index + 1 < points.size ? points[index + 1][0] : to
        [upto - [at, from].max, 0].max * limit
      end
      total / (to - from)
    end
  end

  # A constant limit.
  class Fixed
    attr_reader :limit, :in_flight

    def initialize(limit)
      @limit = limit
      @in_flight = 0
    end

    def generation = 0
    def ready?(_now) = @in_flight < @limit
    def start(_now) = @in_flight += 1
    def wait(_now) = nil
    def on_success(*) = @in_flight -= 1
    def on_overload(*) = @in_flight -= 1
    def on_rate_limit(*) = @in_flight -= 1
  end

  def initialize(scenario, seed:)
    @scenario = scenario
    @random = Random.new(seed)
    @events = Events.new
    @now = 0.0
    @queue = []
    @busy = @present = 0
    @service = steps(scenario.fetch("service"))
    @delay = scenario.fetch("delay", 0.0)
    @thrash = scenario.fetch("thrash", 0.0)
    @client = scenario["client"]
    @turn = scenario.fetch("turn", 0.0)
    @responses = []
    @in_turn = false
    @tokens = scenario["burst"].to_f
    @tokens_at = 0.0
    @workers = steps(scenario.fetch("workers"))
  end

  # Runs the simulation with the limiter that the block creates for the time `now`.
  def run(seconds)
    @limiter = yield @now
    result = Result.new(good: 0, rejected: 0, seconds: seconds.to_f, limits: [], good_at: [])
    @workers.to_h.each_key { |at| @events.push(at, [:workers]) if at.positive? }
    loop do
      fill(result)
      at, event = @events.pop
      break if at > seconds

      @now = at
      handle(event, result)
    end
    result
  end

  private

  Call = Struct.new(:started, :generation, :status)

  def fill(result)
    limit = @limiter.limit
    result.limits << [@now, limit] if result.limits.empty? || result.limits.last[1] != limit
    while @limiter.ready?(@now)
      @limiter.start(@now)
      @events.push(@now + @delay / 2, [:arrive, Call.new(@now, @limiter.generation)])
    end
    wait = @limiter.wait(@now) or return
    @events.push(@now + [wait, 1e-6].max, [:tick]) if @tick.nil? || @tick <= @now || @now + wait < @tick - 1e-6
    @tick = @now + wait
  end

  def handle((kind, call), result)
    case kind
    when :arrive then arrive(call)
    when :served then served(call)
    when :response then receive(call, result)
    when :taken then taken(call, result)
    when :turn then take_turn
    when :workers then serve_queued
    end
  end

  def arrive(call)
    return back(call, 429) if @scenario["rate"] && !token?
    return back(call, 503) if @scenario["reject_above"] && @present >= @scenario["reject_above"]

    @present += 1
    @busy < workers ? serve(call) : @queue << call
  end

  def token?
    rate = @scenario["rate"]
    @tokens = [@tokens + (@now - @tokens_at) * rate, @scenario["burst"].to_f].min
    @tokens_at = @now
    return false if @tokens < 1

    @tokens -= 1
    true
  end

  def steps(value) = value.is_a?(Array) ? value : [[0, value]]
  def at_present(steps) = steps.size == 1 ? steps[0][1] : steps.reverse_each.find { |at, _| at <= @now }[1]
  def workers = at_present(@workers)

  def serve(call)
    @busy += 1
    factor = 1 + @thrash * [@present - workers, 0].max
    @events.push(@now + service * factor, [:served, call])
  end

  def service
    mean = at_present(@service)
    case @scenario.fetch("spread")
    when "deterministic" then mean
    when "exponential" then -mean * Math.log(1 - @random.rand)
    when "lognormal" then mean * Math.exp(normal - 0.5)
    end
  end

  def normal = Math.sqrt(-2 * Math.log(1 - @random.rand)) * Math.cos(2 * Math::PI * @random.rand)

  def served(call)
    @busy -= 1
    @present -= 1
    back(call, 200)
    serve_queued
  end

  def serve_queued
    serve(@queue.shift) while @busy < workers && !@queue.empty?
  end

  def back(call, status)
    call.status = status
    @events.push(@now + @delay / 2 + (status == 200 ? 0 : 0.001), [:response, call])
  end

  def receive(call, result)
    return taken(call, result) unless @client

    @responses << call
    @events.push(@now, [:turn]) unless @in_turn
    @in_turn = true
  end

  # A turn of the client's event loop handles the responses that have arrived when it begins.
  def take_turn
    return @in_turn = false if @responses.empty?

    at = @now + @turn
    @responses.each { |call| @events.push(at += @client, [:taken, call]) }
    @responses.clear
    @events.push(at, [:turn])
  end

  def taken(call, result)
    case call.status
    when 200
      result.good += 1
      result.good_at << @now
      @limiter.on_success(@now, call.started, call.generation)
    else
      result.rejected += 1
      call.status == 429 ? @limiter.on_rate_limit(@now) : @limiter.on_overload(@now, call.status.to_s)
    end
  end

  # Events sorted by time, the next one at the end; of events at the same time, the one pushed first comes first.
  class Events
    def initialize
      @items = []
    end

    def push(at, event)
      @items.insert(@items.bsearch_index { |item| item[0] <= at } || @items.size, [at, event])
    end

    def pop = @items.pop
  end
end
