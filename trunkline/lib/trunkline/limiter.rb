# frozen_string_literal: true

require_relative "limiter/fixed_limit"
require_relative "limiter/adaptive_limit"
require_relative "limiter/rate"

module Trunkline
  # Decides how many requests may be in flight to one origin, and when the next one may start. The number is adaptive,
  # or set by the caller; an origin that refuses requests delays the next ones in both cases. A Limiter does no I/O and
  # reads no clock: its caller passes the time of each event (monotonic seconds). Not safe for use by two threads.
  class Limiter
    # The longest pause in seconds; a longer Retry-After is shortened to it.
    LONGEST_PAUSE = 60.0
    # Two 429s within this many seconds mean that the origin limits the rate.
    REPEATED = 10.0
    # Seconds: the first estimate of a round trip, and its lower bound.
    LEAST_ROUND = 0.01
    # The minimum time in seconds that a slot stays empty after a 429.
    LEAST_COOLDOWN = 0.05

    # @return [Integer] requests in flight
    attr_reader :in_flight

    # @param now [Float] monotonic seconds
    # @param fixed [Integer, nil] the limit that the caller set; nil: the limit is adaptive
    # @param in_flight [Integer] requests in flight already
    # @param maximum [Integer, nil] the upper bound of an adaptive limit
    # @param remembered [Integer, nil] the limit found earlier (Memory)
    # @param rate [Float, nil] starts per second found earlier (Memory)
    def initialize(now, fixed: nil, in_flight: 0, maximum: nil, remembered: nil, rate: nil)
      @concurrency = fixed ? FixedLimit.new(fixed) : AdaptiveLimit.new(maximum: maximum, remembered: remembered)
      @rate = LearntRate.new(rate, now) if rate
      # Whether anything but the limit may delay the next request.
      @held_back = !@rate.nil?
      @in_flight = in_flight
      @cooling = []
      @paused_until = nil
      @round = LEAST_ROUND
      @second = now
      @accepted = @accepted_before = 0
      @limited_at = nil
      @window_until = 0.0
    end

    def limit = @concurrency.limit

    # Raises the maximum once an origin has responded over HTTP/2, where requests share connections.
    # @param maximum [Integer]
    def maximum=(maximum)
      @concurrency.maximum = maximum
    end

    def generation = @concurrency.generation

    # @return [Boolean] whether one more request may start
    def ready?(now)
      return @in_flight < @concurrency.limit unless @held_back
      return false if !slot_free?(now) || (@paused_until && paused?(now))

      @held_back = !(@cooling.empty? && @rate.nil?)
      @rate.nil? || @rate.ready?(now)
    end

    # Counts a request that starts.
    # @return [Integer] the generation of the limit that it starts under
    def start(now)
      @in_flight += 1
      @rate&.take(now)
      @concurrency.generation
    end

    # @return [Float, nil] seconds until one more request may start; nil when a request must end first
    def wait(now)
      return if @in_flight >= @concurrency.limit
      return @paused_until - now if @paused_until && paused?(now)
      return @cooling.first - now unless slot_free?(now)

      @rate ? @rate.wait(now) : 0.0
    end

    # Records that a request ended with a response that is neither 429 nor 503.
    # @param started [Float] when it was started, in monotonic seconds
    # @param generation [Integer] #generation when it was started
    def on_success(now, started, generation)
      latency = now - started
      full = @in_flight >= @concurrency.limit
      @in_flight -= 1
      @round += (latency - @round) * 0.1
      next_second(now) if now - @second >= 1.0
      @accepted += 1
      @concurrency.on_success(now, latency, generation, full)
    end

    # Records a 503, a failed connection or a timeout: the origin had too many requests at a time.
    # @param what [String] the reason, for #to_h
    # @param retry_after [Float, nil] seconds
    # @param least [Integer] the limit is not reduced below it
    def on_overload(now, what, retry_after = nil, least: 1)
      @held_back = true
      @in_flight -= 1
      pause(now, retry_after)
      cool_down(now)
      withdraw(now, what, least)
    end

    # Records a 429: the origin had too many requests in a period.
    # @param retry_after [Float, nil] seconds
    def on_rate_limit(now, retry_after = nil)
      @held_back = true
      @in_flight -= 1
      pause(now, retry_after)
      next_second(now) if now - @second >= 1.0
      if @rate
        @rate.on_rate_limit(now, accepted(now), @round)
      elsif @limited_at && now - @limited_at < REPEATED && now - @limited_at >= [@round, LEAST_COOLDOWN].max
        @rate = LearntRate.new(accepted(now), now)
      else
        @limited_at = now if @limited_at.nil? || now - @limited_at >= REPEATED
        cool_down(now, LEAST_COOLDOWN)
        withdraw(now, "429", 1)
      end
    end

    # Records that a request ended without information about the origin's load, such as a cancelled one.
    def on_ignore
      @in_flight -= 1
    end

    # @return [Hash{Symbol => Object}] limit, state, last_probe, why, rate
    def to_h
      { limit: @concurrency.limit, state: @concurrency.state, last_probe: @concurrency.last_probe,
        why: @concurrency.why, rate: @rate&.per_second }
    end

    private

    # The slot of a refused request stays empty for a round trip: another request would be refused at once.
    def cool_down(now, least = LEAST_ROUND)
      @cooling << now + [@round, least].max
    end

    def slot_free?(now)
      @cooling.shift while @cooling.first && @cooling.first <= now
      @in_flight + @cooling.size < @concurrency.limit
    end

    # Takes away one slot for each refusal, at most half of them within a round trip.
    def withdraw(now, what, least)
      if now >= @window_until
        @window_until = now + [@round, LEAST_ROUND].max
        @window_limit = [@concurrency.limit, @in_flight + 1].min
        @refused = 0
      end
      @refused += 1
      @concurrency.on_overload(now, [@window_limit - @refused, @window_limit / 2, least].max, what)
    end

    def pause(now, seconds)
      return unless seconds&.positive?

      @paused_until = [@paused_until || 0.0, now + [seconds, LONGEST_PAUSE].min].max
    end

    def paused?(now)
      @paused_until = nil if @paused_until <= now
      !@paused_until.nil?
    end

    def next_second(now)
      consecutive = now - @second < 2.0
      @accepted_before = consecutive ? @accepted : 0
      @accepted = 0
      @second = consecutive ? @second + 1.0 : now
      @rate = nil if @rate&.idle?(@accepted_before) && consecutive
    end

    # Returns how many requests were accepted in the last second, with a proportional part of the count of the full
    # second before.
    def accepted(now)
      @accepted + @accepted_before * (1.0 - (now - @second)).clamp(0.0, 1.0)
    end
  end
end
