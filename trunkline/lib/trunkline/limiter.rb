# frozen_string_literal: true

require_relative "limiter/fixed"
require_relative "limiter/knee"
require_relative "limiter/rate"

module Trunkline
  # How many requests may be in flight to one origin, and when the next may start. How many is found out, or as asked
  # for; an origin that refuses requests holds back the next ones either way. It does no I/O and has no clock: whoever
  # drives tells it what happens and when (monotonic seconds). Belongs to one driver; not for two threads.
  class Limiter
    # Seconds of Retry-After that are believed.
    LONGEST_PAUSE = 60.0
    # Seconds within which a second 429 is a repeated one.
    REPEATED = 10.0
    # What a round trip is taken for before there was one, and at the least.
    LEAST_ROUND = 0.01
    # How long a slot rests at the least after a 429.
    LEAST_REST = 0.05

    # @return [Integer] requests in flight
    attr_reader :in_flight

    # @param fixed [Integer, nil] the limit that was asked for; nil: it is found out
    # @param in_flight [Integer] requests that are so when it begins
    # @param maximum [Integer, nil] of what is found out
    # @param remembered [Integer, nil] limit of an earlier time
    # @param rate [Float, nil] starts a second, of an earlier time
    def initialize(now, fixed: nil, in_flight: 0, maximum: nil, remembered: nil, rate: nil)
      @knee = fixed ? Fixed.new(fixed) : Knee.new(maximum: maximum, remembered: remembered)
      @rate = LearntRate.new(rate, now) if rate
      # Whether anything but the limit may keep the next one from starting.
      @held_back = !@rate.nil?
      @in_flight = in_flight
      @resting = []
      @paused_until = nil
      @round = LEAST_ROUND
      @second = now
      @accepted = @accepted_before = 0
      @limited_at = nil
      @window_until = 0.0
    end

    def limit
      @knee.limit
    end

    # As many in flight need not be as many connections any more.
    # @param maximum [Integer]
    def maximum=(maximum)
      @knee.maximum = maximum
    end

    def generation
      @knee.generation
    end

    # @return [Boolean] whether one more may start
    def ready?(now)
      return @in_flight < @knee.limit unless @held_back
      return false if !rested?(now) || (@paused_until && paused?(now))

      @held_back = !(@resting.empty? && @rate.nil?)
      @rate.nil? || @rate.ready?(now)
    end

    # @return [Integer] the generation that it belongs to
    def start(now)
      @in_flight += 1
      @rate&.take(now)
      @knee.generation
    end

    # @return [Float, nil] seconds until one more may start; nil when that takes an answer
    def wait(now)
      return if @in_flight >= @knee.limit
      return @paused_until - now if @paused_until && paused?(now)
      return @resting.first - now unless rested?(now)

      @rate ? @rate.wait(now) : 0.0
    end

    # An answer that is no back-pressure, or an error that says nothing of the server's load.
    # @param started [Float]
    # @param generation [Integer] #generation when it was started
    def answered(now, started, generation)
      latency = now - started
      full = @in_flight >= @knee.limit
      @in_flight -= 1
      @round += (latency - @round) * 0.1
      turn(now) if now - @second >= 1.0
      @accepted += 1
      @knee.answered(now, latency, generation, full)
    end

    # 503, a refused connection, a timeout: too many at a time.
    # @param what [String] for #why
    # @param retry_after [Float, nil] seconds
    def pressed(now, what, retry_after = nil)
      @held_back = true
      @in_flight -= 1
      pause(now, retry_after)
      rest(now)
      withdraw(now, what)
    end

    # 429: too many in a time.
    # @param retry_after [Float, nil] seconds
    def limited(now, retry_after = nil)
      @held_back = true
      @in_flight -= 1
      pause(now, retry_after)
      turn(now) if now - @second >= 1.0
      if @rate
        @rate.limited(now, accepted(now), @round)
      elsif @limited_at && now - @limited_at < REPEATED && now - @limited_at >= [@round, LEAST_REST].max
        @rate = LearntRate.new(accepted(now), now)
      else
        @limited_at = now if @limited_at.nil? || now - @limited_at >= REPEATED
        rest(now, LEAST_REST)
        withdraw(now, "429")
      end
    end

    # One ended that tells nothing: it was cancelled.
    def dropped
      @in_flight -= 1
    end

    # @return [Hash{Symbol => Object}] limit, state, last_probe, why, rate
    def to_h
      { limit: @knee.limit, state: @knee.state, last_probe: @knee.last_probe, why: @knee.why,
        rate: @rate&.per_second }
    end

    private

    # The slot of a refused request rests for a round trip: to fill it at once would mean to be refused at once.
    def rest(now, least = LEAST_ROUND)
      @resting << now + [@round, least].max
    end

    def rested?(now)
      @resting.shift while @resting.first && @resting.first <= now
      @in_flight + @resting.size < @knee.limit
    end

    # One slot less for each refusal, down to half in a round trip.
    def withdraw(now, what)
      if now >= @window_until
        @window_until = now + [@round, LEAST_ROUND].max
        @window_limit = [@knee.limit, @in_flight + 1].min
        @refused = 0
      end
      @refused += 1
      @knee.pressed(now, [@window_limit - @refused, @window_limit / 2].max, what)
    end

    def pause(now, seconds)
      return unless seconds&.positive?

      @paused_until = [@paused_until || 0.0, now + [seconds, LONGEST_PAUSE].min].max
    end

    def paused?(now)
      @paused_until = nil if @paused_until <= now
      !@paused_until.nil?
    end

    def turn(now)
      whole = now - @second < 2.0
      @accepted_before = whole ? @accepted : 0
      @accepted = 0
      @second = whole ? @second + 1.0 : now
      @rate = nil if @rate&.idle?(@accepted_before) && whole
    end

    # What was accepted in the last second: of the second before, the part that is not over.
    def accepted(now)
      @accepted + @accepted_before * (1.0 - (now - @second)).clamp(0.0, 1.0)
    end
  end
end
