# frozen_string_literal: true

require_relative "../../../support/unit_test"
require "trunkline"

# When a Rate lets a request start: without a server and without a clock.
class TestRatePace < UnitTest
  Rate = Trunkline::Policy::Rate
  ENDLESS = Float::INFINITY

  def schedule(per_second, burst) = Rate::Schedule.new(per_second.to_f, burst)

  def waits(pace, count, now) = Array.new(count) { pace.reserve(now, ENDLESS).first.round(6) }

  def test_a_burst_and_then_one_after_the_other
    assert_equal [0.0, 0.0, 0.0, 0.1, 0.2, 0.3], waits(schedule(10, 3), 6, 100.0)
    assert_equal [0.0, 0.1, 0.2], waits(schedule(10, 1), 3, 100.0)
  end

  def test_the_burst_comes_back_with_time
    schedule = schedule(10, 3)
    waits(schedule, 3, 100.0)
    assert_equal [0.0, 0.1], waits(schedule, 2, 100.1)
    assert_equal [0.0, 0.0, 0.0, 0.1], waits(schedule, 4, 200.0)
  end

  def test_no_more_than_the_rate_in_the_long_run
    schedule = schedule(50, 10)
    random = Random.new(16)
    now = 0.0
    starts = Array.new(5000) do
      now += random.rand / 100
      now + schedule.reserve(now, ENDLESS).first
    end
    assert_equal starts, starts.sort
    starts.each_cons(60) { |some| assert_operator some.last - some.first, :>=, 49 / 50.0 - 1e-6 }
  end

  def test_a_slot_that_is_too_late_is_not_reserved
    schedule = schedule(1, 1)
    waits(schedule, 1, 0.0)
    assert_equal [1.0, nil], schedule.reserve(0.0, 0.9)
    assert_equal 1.0, schedule.reserve(0.0, 1.0).first
  end

  def test_the_last_slot_can_be_released
    schedule = schedule(10, 1)
    _, second, last = Array.new(3) { schedule.reserve(0.0, ENDLESS).last }
    schedule.cancel(second) # later slots are reserved behind it
    assert_in_delta 0.3, schedule.delay(0.0), 1e-6
    schedule.cancel(last)
    assert_in_delta 0.2, schedule.delay(0.0), 1e-6
  end

  def test_delay_reserves_no_slot
    schedule = schedule(10, 1)
    waits(schedule, 1, 0.0)
    assert_equal [0.1] * 3, Array.new(3) { schedule.delay(0.0).round(6) }
    assert_equal [0.0, 0.05], [schedule.delay(5.0), schedule.wait(schedule.reserve(0.0, 9).last, 0.05).round(6)]
    assert_equal({ per_second: 10.0, burst: 1, wait: 0.0 }, schedule.to_h(9.0))
  end

  # ---- limits that the server reports ----

  def response_with(status = 200, **fields)
    lines = fields.map { |name, value| "#{name.to_s.tr("_", "-")}: #{value}\r\n" }.join
    Trunkline::Engine.response(nil, "HTTP/1.1 #{status} X\r\nContent-Length: 0\r\n#{lines}\r\n", "")
  end

  # Returns a Quota that has learned from one response at the time 0.
  def quota(...)
    quota = Rate::Quota.new
    quota.learn(quota.reserve(0.0, ENDLESS).last, response_with(...), 0.0)
    quota
  end

  def test_no_wait_before_the_server_reports_a_limit
    assert_equal [0.0] * 100, waits(Rate::Quota.new, 100, 0.0)
    assert_equal [0.0] * 100, waits(quota, 100, 0.0)
  end

  def test_remaining_requests_start_at_once_and_others_after_the_reset
    quota = quota(RateLimit: '"a";r=2;t=30', RateLimit_Policy: '"a";q=3;w=60')
    assert_equal [0.0, 0.0, 30.0, 30.0, 30.0, 90.0], waits(quota, 6, 0.0)
    assert_equal 90.0, quota.delay(0.0)
  end

  def test_periods_follow_one_another
    quota = quota(RateLimit: '"a";r=0;t=10', RateLimit_Policy: '"a";q=2;w=60')
    assert_equal [0.0, 0.0, 35.0], waits(quota, 3, 35.0)
    assert_equal [0.0], waits(quota, 1, 71.0) # one slot of this period was reserved above
    assert_equal [0.0, 0.0, 49.0], waits(quota, 3, 10_041.0) # 166 periods later
  end

  def test_slots_not_used_in_a_period_are_lost
    [15.0, 35.0].each do |now|
      quota = quota(RateLimit: '"a";r=2;t=10', RateLimit_Policy: '"a";q=2;w=10')
      assert_equal [0.0, 0.0, 5.0], waits(quota, 3, now)
    end
  end

  def test_all_of_several_limits_apply
    quota = quota(RateLimit: '"second";r=5;t=1, "day";r=1;t=1000',
                  RateLimit_Policy: '"second";q=5;w=1, "day";q=9;w=1000')
    assert_equal [0.0, 1000.0], waits(quota, 2, 0.0)
  end

  def test_requests_not_counted_by_the_response_are_subtracted
    quota = Rate::Quota.new
    slots = Array.new(4) { quota.reserve(0.0, ENDLESS).last }
    quota.learn(slots.first, response_with(RateLimit: '"a";r=5;t=10', RateLimit_Policy: '"a";q=6;w=10'), 0.0)
    assert_equal [0.0, 0.0, 10.0], waits(quota, 3, 0.0)
  end

  def test_responses_that_arrive_out_of_order
    quota = Rate::Quota.new
    slots = Array.new(3) { quota.reserve(0.0, ENDLESS).last }
    quota.learn(slots[1], response_with(RateLimit: '"a";r=1;t=10'), 0.0)
    quota.learn(slots[0], response_with(RateLimit: '"a";r=9;t=10'), 0.2)
    assert_equal 10.0, quota.delay(0.0).round
  end

  def limit_response(left) = response_with(RateLimit: "\"a\";r=#{left};t=10", RateLimit_Policy: '"a";q=10;w=10')

  def slots(quota, count, now = 0.0) = Array.new(count) { quota.reserve(now, ENDLESS).last }

  # The server has counted only the second request when it responds to it, and counts the others afterwards.
  def test_requests_that_were_overtaken_are_subtracted
    quota = Rate::Quota.new
    quota.learn(slots(quota, 4)[1], limit_response(9), 0.0)
    assert_equal [0.0] * 6 + [10.0], waits(quota, 7, 0.0)
  end

  # The server had counted the other requests before the second one; their responses report more remaining requests.
  def test_counted_requests_are_not_subtracted_again_by_their_responses
    quota = Rate::Quota.new
    first, second, *others = slots(quota, 4)
    quota.learn(second, limit_response(6), 0.0)
    assert_equal 3, quota.to_h(0.0)[:windows]["a"][:remaining]
    [first, *others].zip([9, 8, 7]) { |slot, left| quota.learn(slot, limit_response(left), 0.0) }
    assert_equal [0.0] * 6 + [10.0], waits(quota, 7, 0.0)
  end

  def test_a_request_without_a_response_was_counted
    quota = Rate::Quota.new
    first, second, third = slots(quota, 3)
    quota.learn(third, limit_response(9), 0.0)
    [first, second].each { |slot| quota.ended(slot) }
    quota.learn(slots(quota, 1).first, limit_response(8), 0.0)
    assert_equal 7, quota.to_h(0.0)[:windows]["a"][:remaining]
  end

  def test_a_request_that_began_long_before_another_was_counted
    quota = Rate::Quota.new
    slots(quota, 5) # five requests that take long
    quota.learn(slots(quota, 1, 0.9).first, limit_response(9), 1.9)
    assert_equal 4, quota.to_h(1.9)[:windows]["a"][:remaining]
    quota.learn(slots(quota, 1, 1.9).first, limit_response(3), 2.0)
    assert_equal 3, quota.to_h(2.0)[:windows]["a"][:remaining]
  end

  # Five calls wait for the reset, and the last of them wakes up first.
  def test_waiting_calls_that_wake_later_are_subtracted
    quota = quota(RateLimit: '"a";r=0;t=10', RateLimit_Policy: '"a";q=10;w=10')
    waiting = slots(quota, 5)
    assert_equal 0.0, quota.wait(waiting.last, 10.0)
    quota.learn(waiting.last, limit_response(9), 10.0)
    assert_equal 5, quota.to_h(10.0)[:windows]["a"][:remaining]
    assert_equal [0.0] * 4, waiting.first(4).map { |slot| quota.wait(slot, 10.0) }
    assert_equal [0.0] * 5 + [10.0], waits(quota, 6, 10.0)
  end

  # Up to eight requests are in flight; the server counts them, and the responses arrive, in any order. All 50 requests
  # that the limit allows start, and no more.
  def test_as_many_start_as_the_server_takes_in_whatever_order_it_counts_them
    10.times do |seed|
      random = Random.new(seed)
      quota = Rate::Quota.new
      counted = 0
      sent = []
      responses = {}
      1000.times do
        case random.rand(3)
        when 0 then sent.concat(slots(quota, 1)) if sent.size + responses.size < 8 && quota.delay(0.0).zero?
        when 1
          slot = sent.delete_at(random.rand(sent.size)) if sent.any?
          responses[slot] = 50 - (counted += 1) if slot
        else
          slot = responses.keys.sample(random: random)
          quota.learn(slot, limit_response(responses.delete(slot)), 0.0) if slot
        end
      end
      assert_equal 50, counted, "seed #{seed}"
    end
  end

  # The server's period ends between two responses that are less than a second apart.
  def test_the_next_period_is_known_by_what_is_left_in_it
    quota = Rate::Quota.new
    first, second = slots(quota, 2)
    quota.learn(second, response_with(RateLimit: '"a";r=1;t=1', RateLimit_Policy: '"a";q=10;w=1'), 0.0)
    quota.learn(first, response_with(RateLimit: '"a";r=2;t=1', RateLimit_Policy: '"a";q=10;w=1'), 0.0)
    assert_equal [0.0, 0.9], waits(quota, 2, 0.1)
    quota.learn(3, response_with(RateLimit: '"a";r=9;t=1', RateLimit_Policy: '"a";q=10;w=1'), 0.5)
    assert_equal 0.0, quota.wait(4, 0.5)
    assert_equal [0.0] * 8 + [1.0], waits(quota, 9, 0.5)
  end

  def test_cancelled_slots_do_not_delay_others
    quota = quota(RateLimit: '"a";r=0;t=10', RateLimit_Policy: '"a";q=2;w=10')
    slots(quota, 20).each { |slot| quota.cancel(slot) }
    assert_equal [0.0, 0.0, 10.0], waits(quota, 3, 10.0)
  end

  # The slots were reserved by threads of the parent process, which a forked process does not have.
  def test_slots_that_are_never_released_expire
    quota = quota(RateLimit: '"a";r=0;t=10', RateLimit_Policy: '"a";q=2;w=10')
    slots(quota, 4)
    slot = slots(quota, 1).first
    assert_equal [20.0, 10.0, 0.0], [10.0, 20.0, 30.0].map { |now| quota.wait(slot, now) }
  end

  def test_a_response_overtaken_by_one_of_the_next_period_is_ignored
    quota = Rate::Quota.new
    slots = Array.new(2) { quota.reserve(0.0, ENDLESS).last }
    quota.learn(slots[1], response_with(RateLimit: '"a";r=3;t=2', RateLimit_Policy: '"a";q=4;w=1'), 1.0)
    quota.learn(slots[0], response_with(RateLimit: '"a";r=0;t=1', RateLimit_Policy: '"a";q=4;w=1'), 1.0)
    assert_equal [0.0, 0.0, 0.0, 2.0], waits(quota, 4, 1.0)
  end

  def test_an_unknown_limit_is_learnt
    quota = quota(X_RateLimit_Remaining: 0, X_RateLimit_Reset: 5)
    assert_equal [5.0, 10.0], waits(quota, 2, 0.0)
    assert_equal 0.0, quota.wait(2, 5.0)
    quota.learn(2, response_with(X_RateLimit_Remaining: 7, X_RateLimit_Reset: 5), 5.0)
    assert_equal [0.0] * 6, waits(quota, 6, 5.0)
  end

  def test_retry_after_applies_to_all_calls
    [429, 503].each do |status|
      quota = quota(status, Retry_After: 7)
      assert_equal [7.0, 7.0], waits(quota, 2, 0.0)
      assert_equal [0.0, 0.0], waits(quota, 2, 7.0)
    end
    assert_equal 0.0, quota(500, Retry_After: 7).delay(0.0)
    assert_equal 0.0, quota(301, Retry_After: 7).delay(0.0)
  end

  def test_retry_after_postpones_a_reserved_slot
    quota = quota(RateLimit: '"a";r=1;t=2', RateLimit_Policy: '"a";q=1;w=2')
    wait, first = quota.reserve(0.0, ENDLESS)
    late, second = quota.reserve(0.0, ENDLESS)
    assert_equal [0.0, 2.0], [wait, late]
    quota.learn(first, response_with(429, Retry_After: 9), 1.0)
    assert_equal 8.0, quota.wait(second, 2.0)
    assert_equal 0.0, quota.wait(second, 10.0)
  end

  def test_the_last_slot_of_a_quota_can_be_released
    quota = quota(RateLimit: '"a";r=1;t=5')
    slot = quota.reserve(0.0, ENDLESS).last
    assert_equal 5.0, quota.delay(0.0)
    quota.cancel(slot)
    assert_equal 0.0, quota.delay(0.0)
    waits(quota, 1, 0.0)
    assert_equal [5.0, nil], quota.reserve(0.0, 4.9)
  end

  def test_a_limit_that_is_no_longer_reported_is_removed
    quota = quota(RateLimit: '"old";r=0;t=5')
    quota.learn(1, response_with(RateLimit: '"new";r=100;t=50'), 1.0)
    assert_equal 4.0, quota.delay(1.0)
    quota.learn(1, response_with(RateLimit: '"new";r=100;t=50'), 6.0)
    assert_equal %w[new], quota.to_h(6.0)[:windows].keys
    assert_equal 0.0, quota.delay(6.0)
  end

  def test_to_h_reports_wait_and_windows
    quota = quota(RateLimit: '"a";r=2;t=30', RateLimit_Policy: '"a";q=3;w=60')
    assert_equal({ wait: 0.0, windows: { "a" => { limit: 3, remaining: 2, reset: 20.0 } } }, quota.to_h(10.0))
    assert_equal({ wait: 0.0, windows: {} }, Rate::Quota.new.to_h(0.0))
  end
end
