# frozen_string_literal: true

require_relative "../../../support/unit_test"
require "trunkline"

# Simulates, without a clock, callers of a server that accepts LIMIT requests in each second: how long all requests
# take, and how many are refused.
class TestRateSimulated < UnitTest
  LIMIT = 40
  CALLS = 200
  CALLERS = 12
  # Maximum time in seconds for the way to the server, and for the way back.
  WAY = 0.03

  def setup
    super
    @events = []
    @taken = Hash.new(0)
    @number = @refused = 0
    @left = CALLS
  end

  # The limit is five periods of the server of one second, one second for the callers to learn that each is over, and
  # the beginning of the next.
  def test_no_request_is_refused_and_no_period_is_left_unused
    30.times do |seed|
      setup
      seconds = simulate(Random.new(seed))
      assert_equal 0, @refused, "refused, seed #{seed}"
      assert_operator seconds, :<, 6.5, "seed #{seed}"
    end
  end

  private

  def simulate(random)
    @random = random
    @offset = random.rand
    @quota = Trunkline::Policy::Rate::Quota.new
    CALLERS.times { at(random.rand * 0.01, :call) }
    now = 0.0
    until @events.empty?
      event = @events.min
      @events.delete(event)
      now, _, step, *arguments = event
      send(step, now, *arguments)
    end
    now
  end

  def at(time, *step) = @events << [time, @number += 1, *step]

  def call(now)
    return if (@left -= 1).negative?

    wait, slot = @quota.reserve(now, Float::INFINITY)
    go_on(now, wait, slot)
  end

  def wake(now, slot) = go_on(now, @quota.wait(slot, now), slot)

  # A thread wakes up a little later than it should.
  def go_on(now, wait, slot)
    wait.zero? ? at(now + way, :serve, slot) : at(now + wait + (@random.rand * 0.002), :wake, slot)
  end

  def serve(now, slot)
    period = (now + @offset).floor
    left = LIMIT - (@taken[period] += 1)
    @refused += 1 if left.negative?
    at(now + way, :response_received, slot, [left, 0].max, (period + 1 - now - @offset).ceil)
  end

  def response_received(now, slot, left, seconds)
    head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" \
           "RateLimit: \"a\";r=#{left};t=#{seconds}\r\nRateLimit-Policy: \"a\";q=#{LIMIT};w=1\r\n\r\n"
    @quota.learn(slot, Trunkline::Engine.response(nil, head, ""), now)
    @quota.ended(slot)
    at(now, :call)
  end

  def way = @random.rand * WAY
end
